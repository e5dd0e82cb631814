package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"unicode/utf8"
)

// command is exactly what `sayso run` will start: it is what the card shows, what
// is hashed, and what is executed, with nothing looked up again in between.
type command struct {
	Argv       []string `json:"argv"`
	Folder     string   `json:"folder"`
	Executable string   `json:"executable"`
}

// resolveCommand fixes folder and program before anybody is asked: what is on the
// card is an absolute file, whatever becomes of PATH or a link while it waits.
func resolveCommand(argv []string, folder string) (command, error) {
	if folder == "" {
		var err error
		if folder, err = os.Getwd(); err != nil {
			return command{}, errors.New("the current folder is gone")
		}
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		return command{}, errors.New("the current folder is gone")
	}
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return command{}, usage("--folder: there is no such folder")
	}
	name := argv[0]
	if filepath.Base(name) != name && !filepath.IsAbs(name) { // A path is relative to where it would run.
		name = filepath.Join(folder, name)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return command{}, usage("%s: there is no such program", argv[0])
	}
	if path, err = filepath.Abs(path); err != nil {
		return command{}, errors.New("the program's path cannot be resolved")
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return command{}, usage("%s: there is no such program", argv[0])
	}
	c := command{Argv: argv, Folder: folder, Executable: path}
	return c, c.readable()
}

// readable refuses bytes that are no text. JSON would show and hash every one of
// them as the same replacement character, so that an answer to one command would be
// a grant for another.
func (c command) readable() error {
	for _, s := range append([]string{c.Folder, c.Executable}, c.Argv...) {
		if !utf8.ValidString(s) {
			return usage("the command, its folder and its program must be UTF-8: nobody could see what would run")
		}
	}
	return nil
}

// arguments is the action as the service hashes it.
func (c command) arguments() (json.RawMessage, error) {
	b, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode command: %w", err)
	}
	return b, nil
}
