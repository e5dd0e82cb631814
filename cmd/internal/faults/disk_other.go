//go:build unix && !linux

package faults

import (
	"context"
	"fmt"
)

// smallDisk is for Linux alone.
func smallDisk(*campaign) (needs, func() error, error) {
	return needs{}, nil, fmt.Errorf("%w: a small file system is mounted on Linux only", errNotHere)
}

func filled(context.Context, *campaign) error { return errNotHere }
