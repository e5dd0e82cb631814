package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"time"

	"github.com/saysohq/sayso/channels/telegram"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/people"
)

// linker fits the people service to the pipeline.
type linker struct{ *people.Service }

// PeekLink implements callbacks.Linker.
func (l linker) PeekLink(ctx context.Context, code string) (core.Principal, string, error) {
	r, err := l.Service.PeekLink(ctx, code)
	return r.Person, r.CodeHash, err
}

// chatLinks are the links of the bots that present a linking code when somebody
// presses Start. A bot whose name the platform has not told yet has none.
func (p *parts) chatLinks(code string) []string {
	var links []string
	for _, c := range p.channels {
		if t, ok := c.(*telegram.Channel); ok && t.Username() != "" {
			links = append(links, "https://t.me/"+url.PathEscape(t.Username())+"?start="+url.QueryEscape(code))
		}
	}
	return links
}

// messengers are those that the deployment has bots of, each once, in a fixed order.
func (p *parts) messengers() []core.Surface {
	var all []core.Surface
	for _, c := range p.channels {
		all = append(all, c.Ref().Channel)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ready does what a start must leave behind before it says that it is ready: the
// local token, the first sign-in code, and the address for this machine's CLI.
func (p *parts) ready(ctx context.Context, o Options, l net.Listener) (Ready, error) {
	if err := p.ensureLocalToken(ctx, o.Config.Data); err != nil {
		return Ready{}, err
	}
	ready := Ready{URL: own(o.Config.PublicURL, l), PublicURL: o.Config.PublicURL, Data: o.Config.Data, Accounts: p.accounts()}
	if err := p.firstCode(ctx, &ready); err != nil {
		return Ready{}, fmt.Errorf("first sign-in: %w", err)
	}
	if err := writeFile(filepath.Join(o.Config.Data, AddressFile), ready.URL+"\n"); err != nil {
		return Ready{}, fmt.Errorf("address file: %w", cause(err))
	}
	return ready, nil
}

// Replicas look for the first code one after the other; one that dies on the way holds
// the others up for firstCodeTime.
const (
	firstCodeLease = "first-code"
	firstCodeTime  = 5 * time.Second
	firstCodePause = 50 * time.Millisecond
)

// firstCode makes the first sign-in code while there is no admin. A new code replaces
// the one before it, which is right for a process that starts again: its terminal may be
// gone. Replicas that start together would each spoil what the one before has told, so
// among them a code that is good stays (sayso pair prints another).
func (p *parts) firstCode(ctx context.Context, ready *Ready) error {
	if p.store.shared {
		lease, err := p.firstCodeTurn(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = p.store.leases.Release(ctx, lease) }() // It also runs out by itself.
		if ready.FirstElsewhere, err = p.store.BootstrapOpen(ctx); err != nil || ready.FirstElsewhere {
			return err
		}
	}
	first, open, err := p.people.EnsureBootstrap(ctx, people.FormLink)
	if open {
		ready.First = first.Code
	}
	return err
}

// firstCodeTurn waits for this replica's turn.
func (p *parts) firstCodeTurn(ctx context.Context) (core.Lease, error) {
	holder := newID()
	for {
		lease, err := p.store.leases.Acquire(ctx, firstCodeLease, holder, firstCodeTime)
		if !errors.Is(err, core.ErrLeaseLost) {
			return lease, err
		}
		select {
		case <-ctx.Done():
			return core.Lease{}, ctx.Err()
		case <-time.After(firstCodePause):
		}
	}
}

// own is the address of the listener itself, for this machine's terminal: the one
// place where a link is made without a configured public address.
func own(publicURL string, l net.Listener) string {
	host, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return "http://" + l.Addr().String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	base := ""
	if u, err := url.Parse(publicURL); err == nil {
		base = u.EscapedPath()
	}
	return "http://" + net.JoinHostPort(host, port) + base
}
