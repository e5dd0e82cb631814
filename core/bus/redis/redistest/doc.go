// Package redistest gives tests a private Redis server, and a [Proxy] in front of it
// that stalls or cuts what goes through.
//
// What it does not do: it never skips. Where Redis is not installed a test fails with
// the name of the package to install (redis-server). It is for tests alone.
package redistest
