package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/client"
	"github.com/saysohq/sayso/core/people/qr"
)

// The forms of a one-time code.
const (
	formLink  = "link"
	formTyped = "typed"
)

func newPair(c *connection) *cobra.Command {
	var typed bool
	cmd := &cobra.Command{
		Use: "pair [PERSON]", GroupID: "serve", Short: "Sign a browser or phone in: prints a one-time link and its QR code",
		Long: "Print a link (and QR code) that signs a browser in as a person: single use, 5 minutes.\n" +
			"Without PERSON it is the only admin there is. It goes through the admin socket, so it\n" +
			"runs on the service's machine, as its user.",
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			form := formLink
			if typed {
				form = formTyped
			}
			op, person, err := c.operatorFor(cmd.Context(), args)
			if errors.Is(err, errNoAdmin) { // The first link may have run out unused.
				code, err := op.IssueFirstCode(cmd.Context(), form)
				if err != nil {
					return err
				}
				return c.printPair(api.Person{Name: "the first admin"}, code, typed)
			}
			if err != nil {
				return err
			}
			code, err := op.IssueCode(cmd.Context(), person.ID, api.IssueCode{Purpose: core.CodePair, Form: form})
			if err != nil {
				return err
			}
			return c.printPair(person, code, typed)
		},
	}
	cmd.Flags().BoolVar(&typed, "code", false, "print a short code to be typed, for sayso login")
	return cmd
}

func (c *connection) printPair(person api.Person, code api.Code, typed bool) error {
	if typed {
		fmt.Fprintf(c.env.stderr, "one-time code for %s, good until %s:\n", person.Name, clock(code.ExpiresAt))
		return say(c.env.stdout, code.Code)
	}
	link := strings.TrimRight(c.url(), "/") + "/signin#code=" + url.QueryEscape(code.Code)
	if len(code.Links) > 0 { // The configured public address, which a phone can reach.
		link = code.Links[0]
	}
	fmt.Fprintf(c.env.stderr, "opens a session of %s, once, until %s:\n", person.Name, clock(code.ExpiresAt))
	if err := say(c.env.stdout, link); err != nil {
		return err
	}
	if !isTerminal(c.env.stdout) {
		return nil
	}
	return qr.Write(c.env.stdout, link, qr.Colour)
}

func newLink(c *connection) *cobra.Command {
	return &cobra.Command{
		Use: "link [PERSON]", GroupID: "serve", Short: "Link a chat account: prints what to press or send to the bot",
		Long: "Print a one-time code (single use, 5 minutes) with which a chat account asks to decide as a\n" +
			"person. Without PERSON it is the only admin there is. Send it in a direct chat: a code that is\n" +
			"seen in a group is void.",
		Args: atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			op, person, err := c.operatorFor(cmd.Context(), args)
			if err != nil {
				return err
			}
			code, err := op.IssueCode(cmd.Context(), person.ID, api.IssueCode{Purpose: core.CodeLink, Form: formLink})
			if err != nil {
				return err
			}
			if len(code.Messengers) == 0 {
				return errNoMessenger
			}
			for _, link := range code.Links {
				fmt.Fprintf(c.env.stderr, "press Start here, as %s:\n", person.Name)
				if err := say(c.env.stdout, link); err != nil {
					return err
				}
			}
			if len(code.Links) == 0 && slices.Contains(code.Messengers, core.SurfaceTelegram) {
				fmt.Fprintf(c.env.stderr, "send this to the bot in a direct chat, as %s:\n", person.Name)
				if err := say(c.env.stdout, "/start "+code.Code); err != nil {
					return err
				}
			}
			// Their clients send nothing that begins with a slash but registered commands.
			if slices.ContainsFunc(code.Messengers, func(m core.Surface) bool { return m != core.SurfaceTelegram }) {
				fmt.Fprintf(c.env.stderr, "in Slack or Discord, give this command to the bot, as %s:\n/sayso link %s\n", person.Name, code.Code)
			}
			return nil
		},
	}
}

// errNoMessenger is a deployment that nobody could link a chat account with.
var errNoMessenger = usage("this service has no bot that could take a code: connect a messenger first (docs/messengers.md)")

// errNoAdmin is a deployment whose first admin is still to come.
var errNoAdmin = usage("there is no admin yet: open the first sign-in link, or get a new one with: sayso pair")

// clock is a time of today as people read it.
func clock(m core.Millis) string { return m.Time().Local().Format(time.TimeOnly) }

func atMostOne(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usage("%s takes one person at most", cmd.Name())
	}
	return nil
}

// operatorFor finds the person that a command is about: the one named by id or
// name, or the only enabled admin.
func (c *connection) operatorFor(ctx context.Context, args []string) (*client.Client, api.Person, error) {
	op, err := c.operator()
	if err != nil {
		return nil, api.Person{}, err
	}
	all, err := op.People(ctx)
	if err != nil {
		return nil, api.Person{}, err
	}
	var found []api.Person
	for _, p := range all {
		switch {
		case len(args) == 1 && (p.ID == args[0] || p.Name == args[0]),
			len(args) == 0 && p.Role == core.RoleAdmin && !p.Disabled:
			found = append(found, p)
		}
	}
	switch {
	case len(found) == 1:
		return op, found[0], nil
	case len(found) > 1:
		return nil, api.Person{}, usage("several people fit: name one by id (see sayso people)")
	case len(args) == 0:
		return op, api.Person{}, errNoAdmin
	}
	return nil, api.Person{}, usage("there is no such person (see sayso people)")
}

func newLogin(c *connection) *cobra.Command {
	return &cobra.Command{
		Use: "login", GroupID: "answer", Short: "Sign this terminal in with a one-time code",
		Long: "Sign this terminal in as a person, with the code of `sayso pair --code`. The terminal may then\n" +
			"list and deny as that person; allowing needs cli_allow in the service's configuration.",
		Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			fmt.Fprint(c.env.stderr, "One-time code: ")
			line, err := bufio.NewReader(c.env.stdin).ReadString('\n')
			if err != nil && line == "" {
				return usage("no code was entered")
			}
			anonymous, err := c.with("")
			if err != nil {
				return err
			}
			host, err := os.Hostname()
			if err != nil {
				host = "terminal"
			}
			in, err := anonymous.SignIn(cmd.Context(), api.SignIn{
				Code: strings.TrimSpace(line), Purpose: core.CodePair, Kind: core.SessionCLI, Label: host,
			})
			if err != nil {
				return err
			}
			if err := c.keepSession(in.Bearer); err != nil {
				return err
			}
			return say(c.env.stdout, "signed in as "+in.Person.Name)
		},
	}
}

// keepSession writes the bearer for its user alone.
func (c *connection) keepSession(bearer string) error {
	path := c.sessionFile()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return errors.New("the session cannot be kept: the data folder cannot be made")
	}
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return errors.New("the session cannot be kept")
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return errors.New("the session cannot be kept")
	}
	_, err = fmt.Fprintln(f, bearer)
	return errors.Join(err, f.Close())
}
