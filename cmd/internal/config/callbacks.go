package config

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/events/webhooks"
)

// Webhooks is where the callbacks of each runtime may be. The configuration was
// validated.
func (c *Config) Webhooks() (*webhooks.Runtimes, error) {
	configured := make(map[string]webhooks.Runtime, len(c.Callbacks))
	for i := range c.Callbacks {
		b := &c.Callbacks[i]
		networks, err := b.networks()
		if err != nil {
			return nil, err
		}
		configured[b.Runtime] = webhooks.Runtime{Hosts: b.Hosts, Secret: b.Secret.Reveal(), Networks: networks}
	}
	return webhooks.NewRuntimes(configured)
}

func (b *Callbacks) networks() ([]netip.Prefix, error) {
	list := make([]netip.Prefix, len(b.Networks))
	for i, text := range b.Networks {
		p, err := netip.ParsePrefix(text)
		if err != nil || p != p.Masked() {
			return nil, fmt.Errorf("networks[%d]: must be a network such as 10.1.0.0/16", i)
		}
		list[i] = p
	}
	return list, nil
}

func (c *Config) validateCallbacks() error {
	var faults []error
	seen := map[string]bool{}
	for i := range c.Callbacks {
		b := &c.Callbacks[i]
		fault := func(err error) { faults = append(faults, fmt.Errorf("callbacks[%d]: %w", i, err)) }
		switch {
		case !core.ValidRuntimeName(b.Runtime):
			fault(errors.New("runtime: must be the name of a runtime"))
		case seen[b.Runtime]:
			fault(errors.New("runtime: has its callbacks already"))
		}
		seen[b.Runtime] = true
		networks, err := b.networks()
		if err != nil {
			fault(err)
		}
		// Under a name of its own, so that the fault is told once, with the number of its entry.
		if _, err := webhooks.NewRuntimes(map[string]webhooks.Runtime{
			b.Runtime: {Hosts: b.Hosts, Secret: b.Secret.Reveal(), Networks: networks},
		}); err != nil {
			fault(err)
		}
	}
	return errors.Join(faults...)
}
