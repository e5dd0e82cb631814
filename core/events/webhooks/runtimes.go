package webhooks

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/saysohq/sayso/core"
)

// Runtime is what an operator lets one runtime have called.
type Runtime struct {
	// Hosts are the origins that its callbacks may have: "hooks.example.com" or
	// "https://hooks.example.com:8443"; "http://" for plain HTTP.
	Hosts []string
	// Secret signs what is sent: "whsec_" and base64 of 24 to 64 random bytes.
	Secret string
	// Networks are those whose addresses may be called although they are not public.
	Networks []netip.Prefix
}

// Bounds of a secret in bytes, as Standard Webhooks recommends them.
const (
	minSecret = 24
	maxSecret = 64
)

// Runtimes knows where the callbacks of each runtime may be. It is safe for concurrent
// use.
type Runtimes struct{ byName map[string]*target }

// target is what one runtime may have called.
type target struct {
	origins map[string]bool
	signer  *standardwebhooks.Webhook
	guard   guard
}

// NewRuntimes reads what an operator configured, by the names of the runtimes. It
// returns every fault, joined; none repeats a secret.
func NewRuntimes(configured map[string]Runtime) (*Runtimes, error) {
	r := &Runtimes{byName: make(map[string]*target, len(configured))}
	var faults []error
	for name, c := range configured {
		t, err := newTarget(&c)
		if err != nil {
			faults = append(faults, fmt.Errorf("runtime %s: %w", name, err))
		}
		r.byName[name] = t
	}
	return r, errors.Join(faults...)
}

func newTarget(c *Runtime) (*target, error) {
	t := &target{origins: map[string]bool{}, guard: guard{c.Networks}}
	var faults []error
	if len(c.Hosts) == 0 {
		faults = append(faults, errors.New("hosts: must name at least one"))
	}
	for i, h := range c.Hosts {
		if !strings.Contains(h, "://") {
			h = "https://" + h
		}
		u, err := url.Parse(h)
		o, ok := originOf(u)
		if err != nil || !ok || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
			faults = append(faults, fmt.Errorf("hosts[%d]: must be a host, with a port and https:// or http:// if need be", i))
		}
		t.origins[o] = true
	}
	encoded, marked := strings.CutPrefix(c.Secret, "whsec_")
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || !marked || len(key) < minSecret || len(key) > maxSecret {
		faults = append(faults, fmt.Errorf("secret: must be whsec_ and base64 of %d to %d bytes", minSecret, maxSecret))
	} else if t.signer, err = standardwebhooks.NewWebhookRaw(key); err != nil {
		faults = append(faults, errors.New("secret: cannot sign"))
	}
	return t, errors.Join(faults...)
}

// originOf is scheme, host and port in their one form.
func originOf(u *url.URL) (origin string, ok bool) {
	if u == nil || u.User != nil || u.Opaque != "" || u.Fragment != "" || strings.HasSuffix(u.Host, ":") {
		return "", false
	}
	port := u.Port()
	switch {
	case u.Scheme == "https" && port == "":
		port = "443"
	case u.Scheme == "http" && port == "":
		port = "80"
	case u.Scheme != "https" && u.Scheme != "http":
		return "", false
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	for _, c := range host {
		if c <= ' ' || c > '~' { // Other alphabets are written as the network has them (xn--).
			return "", false
		}
	}
	return u.Scheme + "://" + host + ":" + port, host != ""
}

// Allowed implements approvals.Callbacks: whether the runtime may have the address
// called. Errors: core.ErrInvalid, as a FieldError on "callback_url".
func (r *Runtimes) Allowed(runtime, address string) error {
	if _, err := r.target(runtime, address); err != nil {
		return err
	}
	return nil
}

func (r *Runtimes) target(runtime, address string) (*target, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, core.Invalid("callback_url", "must be an absolute https address")
	}
	o, ok := originOf(u)
	if !ok {
		return nil, core.Invalid("callback_url", "must be an absolute https address without user, fragment or letters of other alphabets in its host")
	}
	t := r.byName[runtime]
	if t == nil || !t.origins[o] {
		return nil, core.Invalid("callback_url", "must have a host that is configured for this runtime")
	}
	return t, nil
}
