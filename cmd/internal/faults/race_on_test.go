//go:build unix && race

package faults_test

const raceEnabled = true
