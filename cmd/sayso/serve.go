package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/saysohq/sayso/cmd/internal/app"
	"github.com/saysohq/sayso/cmd/internal/config"
	"github.com/saysohq/sayso/core"
)

func newServe(c *connection) *cobra.Command {
	var flags configured
	var listen, publicURL, level, redisFile string
	var migrate bool
	cmd := &cobra.Command{
		Use: "serve", GroupID: "serve", Short: "Run the service",
		Long: "Run the service: on loopback, with its embedded database in the data folder, unless\n" +
			"configured otherwise. It needs no configuration, no account and no other service. With\n" +
			"PostgreSQL configured it is one of any number of equal replicas on one database.",
		Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := c.load(&flags, func(cfg *config.Config) {
				set(&cfg.Listen, listen)
				set(&cfg.PublicURL, publicURL)
				set(&cfg.Log.Level, level)
				if redisFile != "" {
					cfg.Redis.URL, cfg.Redis.URLFile = "", redisFile
				}
			})
			if err != nil {
				return err
			}
			return app.Run(cmd.Context(), app.Options{
				Config: cfg, Logger: newLogger(c.env.stderr, cfg.Log), Now: time.Now, Migrate: migrate,
				Reload:  c.hangUps(cmd.Context()),
				OnReady: func(r app.Ready) { c.greet(r) },
			})
		},
	}
	f := cmd.Flags()
	flags.add(cmd)
	f.StringVar(&redisFile, "redis-url-file", "", "file with the address of Redis (SAYSO_REDIS__URL_FILE)")
	f.BoolVar(&migrate, "migrate", false, "bring PostgreSQL's schema up to date first; the embedded database's always is")
	f.StringVar(&listen, "listen", "", "address of the HTTP service (default 127.0.0.1:7788)")
	f.StringVar(&publicURL, "public-url", "", "trusted origin of links")
	f.StringVar(&level, "log-level", "", "debug, info, warn or error")
	return cmd
}

// hangUps are the signals that tell a service to look at its policy files. On a terminal
// the same signal says that the terminal has gone, and ends the service as always.
func (c *connection) hangUps(ctx context.Context) <-chan os.Signal {
	if f, ok := c.env.stdin.(*os.File); !ok || isTerminalFile(f) {
		return nil
	}
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGHUP)
	context.AfterFunc(ctx, func() { signal.Stop(told) })
	return told
}

func set(field *string, value string) {
	if value != "" {
		*field = value
	}
}

// newLogger writes to standard error: lines of text where somebody reads them,
// JSON otherwise, unless the configuration says which.
func newLogger(out io.Writer, l config.Log) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(l.Level)); err != nil {
		level = slog.LevelInfo // Validated before: it cannot be anything else.
	}
	options := &slog.HandlerOptions{Level: level}
	if l.Format == "text" || l.Format == "" && isTerminal(out) {
		return slog.New(slog.NewTextHandler(out, options))
	}
	return slog.New(slog.NewJSONHandler(out, options))
}

// greet prints the next steps. The first sign-in code goes to the terminal, or to
// a private file where there is none: never to a log.
func (c *connection) greet(r app.Ready) {
	link := r.URL + "/signin#code=" + r.First.Reveal()
	var b strings.Builder
	fmt.Fprintf(&b, "\nsayso is ready at %s (data in %s)\n\n", r.URL, r.Data)
	switch {
	case !r.First.Empty():
		if isTerminal(c.env.stdout) {
			fmt.Fprintf(&b, "1. Sign in as the first admin (once, within 15 minutes):\n   %s\n", link)
		} else if path, err := saveFirst(r.Data, link); err == nil {
			fmt.Fprintf(&b, "1. Sign in as the first admin with the link in %s (once, within 15 minutes)\n", path)
		} else {
			fmt.Fprintf(&b, "1. The first sign-in link could not be written: run sayso serve in a terminal\n")
		}
	case r.FirstElsewhere:
		fmt.Fprintf(&b, "1. Sign in as the first admin with the link of the replica that started before, or of: %s pair\n", c.self())
	default:
		fmt.Fprintf(&b, "1. Open %s/ (sign another browser in with: %s pair)\n", r.URL, c.self())
	}
	fmt.Fprintf(&b, "2. Ask, in another terminal:\n   %s ask \"Deploy build 42 to production\"\n", c.self())
	if len(r.Accounts) > 0 {
		fmt.Fprintf(&b, "3. Connected: %s. Link your own chat with:\n   %s link\n", connected(r.Accounts), c.self())
	} else {
		fmt.Fprintf(&b, "3. Connect Telegram: make a bot with @BotFather, start with its token, then link your chat:\n"+
			"   SAYSO_TELEGRAM_TOKEN=123456:... %s serve\n   %s link\n", c.self(), c.self())
	}
	fmt.Fprintf(&b, "\nAn agent that runs as this same user (%s) can read these files and answer for you:\n"+
		"against such an agent this service can only advise. Run it as a user of its own.\n\n", userName())
	fmt.Fprint(c.env.stdout, b.String())
}

// connected names the messengers with the number of their bots.
func connected(accounts []core.AccountRef) string {
	var names []string
	for _, s := range []core.Surface{core.SurfaceTelegram, core.SurfaceSlack, core.SurfaceDiscord} {
		n := 0
		for _, a := range accounts {
			if a.Channel == s {
				n++
			}
		}
		if n > 0 {
			names = append(names, fmt.Sprintf("%s (%d)", s, n))
		}
	}
	return strings.Join(names, ", ")
}

// self is how this binary was called, for commands to be pasted.
func (c *connection) self() string {
	name := os.Args[0]
	if filepath.Base(name) == name {
		name = "sayso"
	}
	if c.data != "" {
		name += " --data " + c.data
	}
	return name
}

func userName() string {
	if u := os.Getenv("USER"); u != "" {
		return u
	}
	return fmt.Sprintf("uid %d", os.Getuid())
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isTerminalFile(f)
}

func isTerminalFile(f *os.File) bool {
	return isatty.IsTerminal(f.Fd()) || isatty.IsCygwinTerminal(f.Fd())
}

func saveFirst(folder, link string) (string, error) {
	path := filepath.Join(folder, app.BootstrapFile)
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return "", err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	if _, err := fmt.Fprintln(f, link); err != nil {
		_ = f.Close() // The first error is the one to report.
		return "", err
	}
	return path, f.Close()
}
