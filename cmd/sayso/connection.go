package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/saysohq/sayso/cmd/internal/app"
	"github.com/saysohq/sayso/cmd/internal/config"
	"github.com/saysohq/sayso/core/client"
	"github.com/saysohq/sayso/core/people/adminsocket"
)

// connection finds the service and the right to speak to it.
type connection struct {
	env    environment
	data   string // --data
	server string // --server
}

// variable reads one variable of the environment.
func (c *connection) variable(name string) string {
	for _, v := range slices.Backward(c.env.environ) {
		if v, ok := strings.CutPrefix(v, name+"="); ok {
			return v
		}
	}
	return ""
}

// folder is the data folder: flag, environment, the user's own.
func (c *connection) folder() (string, error) {
	if c.data != "" {
		return filepath.Abs(c.data)
	}
	if d := c.variable("SAYSO_DATA"); d != "" {
		return filepath.Abs(d)
	}
	return config.DefaultData(c.env.environ)
}

// url is the address of the service: flag, environment, what a service on this
// machine wrote down, the default.
func (c *connection) url() string {
	if c.server != "" {
		return c.server
	}
	if u := c.variable("SAYSO_URL"); u != "" {
		return u
	}
	if folder, err := c.folder(); err == nil {
		if b, err := os.ReadFile(filepath.Join(folder, app.AddressFile)); err == nil {
			return strings.TrimSpace(string(b))
		}
	}
	return "http://" + config.Default().Listen
}

// machine speaks as a runtime: with SAYSO_TOKEN, or with this machine's own token.
func (c *connection) machine() (*client.Client, error) {
	if token := c.variable("SAYSO_TOKEN"); token != "" {
		return c.with(token)
	}
	token, err := c.read(app.TokenFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &exitError{code: exitUnreachable, err: errors.New(
			"there is no token: start the service on this machine (sayso serve), or set SAYSO_TOKEN and SAYSO_URL")}
	}
	if err != nil {
		return nil, &exitError{code: exitNoPermit, err: errors.New("the local token cannot be read: it belongs to the service's user")}
	}
	return c.with(token)
}

// person speaks as whoever signed this terminal in with sayso login.
func (c *connection) person() (*client.Client, error) {
	bearer, err := os.ReadFile(c.sessionFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &exitError{code: exitNoPermit, err: errors.New("sign in first: sayso login")}
	}
	if err != nil {
		return nil, &exitError{code: exitNoPermit, err: errors.New("the session of sayso login cannot be read")}
	}
	return c.with(strings.TrimSpace(string(bearer)))
}

// either speaks as a person where somebody is signed in, else as a machine.
func (c *connection) either() (*client.Client, error) {
	if p, err := c.person(); err == nil {
		return p, nil
	}
	return c.machine()
}

// operator speaks through the admin socket of a service on this machine.
func (c *connection) operator() (*client.Client, error) { return c.operatorWith(client.Config{}) }

// operatorWith is operator with a patience of its own.
func (c *connection) operatorWith(cfg client.Config) (*client.Client, error) {
	folder, err := c.folder()
	if err != nil {
		return nil, err
	}
	cfg.BaseURL, cfg.Transport = adminsocket.BaseURL, adminsocket.Transport(filepath.Join(folder, app.SocketFile))
	cfg.UserAgent, cfg.AllowPlainHTTP = userAgent, true
	return client.New(cfg)
}

func (c *connection) with(bearer string) (*client.Client, error) {
	m, err := client.New(client.Config{BaseURL: c.url(), Bearer: bearer, UserAgent: userAgent})
	if err != nil {
		return nil, usage("%w", err)
	}
	return m, nil
}

func (c *connection) read(name string) (string, error) {
	folder, err := c.folder()
	if err != nil {
		return "", err
	}
	b, err := os.ReadFile(filepath.Join(folder, name))
	return strings.TrimSpace(string(b)), err
}

// sessionFile keeps the session of this user's terminal, beside the data folder's
// own default: a remote service has no data folder here.
func (c *connection) sessionFile() string {
	if folder, err := c.folder(); err == nil {
		return filepath.Join(folder, "cli-session")
	}
	return "cli-session"
}

// userAgent names this program to the service.
const userAgent = "sayso-cli"
