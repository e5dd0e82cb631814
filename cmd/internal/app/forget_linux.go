package app

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// forgetStart gives back the pages of the program's code that are resident. Most of
// them only the start has needed: the API's description, the pages' templates, the
// schema. What is needed again comes back from the page cache when it is. Only code is
// given back: nothing ever writes to it, so what the file has is all there is.
func forgetStart() error {
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		first, last, ok := codeOf(lines.Text(), program)
		if !ok {
			continue
		}
		if _, _, failed := unix.Syscall(unix.SYS_MADVISE, first, last-first, unix.MADV_DONTNEED); failed != 0 {
			return fmt.Errorf("give back code: %w", failed)
		}
	}
	return nil
}

// codeOf reads a line of a process's map: where code of the program is.
func codeOf(line, program string) (first, last uintptr, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 6 || fields[1] != "r-xp" || strings.Join(fields[5:], " ") != program {
		return 0, 0, false
	}
	from, to, _ := strings.Cut(fields[0], "-")
	a, errA := strconv.ParseUint(from, 16, 64)
	b, errB := strconv.ParseUint(to, 16, 64)
	return uintptr(a), uintptr(b), errA == nil && errB == nil && a < b
}
