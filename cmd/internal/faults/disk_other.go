//go:build unix && !linux

package faults

import (
	"context"
	"fmt"
)

// smallDisk is for Linux alone.
func smallDisk(context.Context, *campaign) (needs, error) {
	return needs{}, fmt.Errorf("%w: a small file system is mounted on Linux only", errNotHere)
}

func filled(context.Context, *campaign) error { return errNotHere }
