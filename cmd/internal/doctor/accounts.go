package doctor

import (
	"context"
	"slices"
	"sync"

	"github.com/saysohq/sayso/channels"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
)

// Accounts examines the accounts side by side and returns what was found, in the
// order of the accounts. With fix, what can be mended is, and is examined again.
func Accounts(ctx context.Context, accounts []channels.Channel, fix bool) []api.Finding {
	found := make([][]api.Finding, len(accounts))
	var all sync.WaitGroup
	for i, c := range accounts {
		d, ok := c.(channels.Doctor)
		if !ok {
			continue
		}
		all.Go(func() { found[i] = account(ctx, c.Ref(), d, fix) })
	}
	all.Wait()
	return slices.Concat(found...)
}

func account(ctx context.Context, ref core.AccountRef, d channels.Doctor, fix bool) []api.Finding {
	first := d.Examine(ctx)
	if !fix || !slices.ContainsFunc(first, func(f channels.Finding) bool { return f.Mendable }) {
		return report(ref, first, nil)
	}
	tried := map[channels.Check]error{}
	for _, f := range first {
		if f.Mendable {
			tried[f.Check] = d.Mend(ctx, f.Check)
		}
	}
	return report(ref, d.Examine(ctx), tried)
}

// report words findings for the API. What was mended and holds is marked so; what
// was tried in vain says why.
func report(ref core.AccountRef, found []channels.Finding, tried map[channels.Check]error) []api.Finding {
	list := make([]api.Finding, 0, len(found))
	for _, f := range found {
		out := api.Finding{
			Channel: ref.Channel, Account: ref.Account, Check: string(f.Check), Verdict: health(f.Verdict),
			Detail: f.Detail, Fix: f.Fix,
		}
		err, wasTried := tried[f.Check]
		switch {
		case wasTried && f.Verdict == channels.VerdictOK:
			out.Mended = true
		case wasTried && err != nil:
			out.Detail += "; it could not be mended (" + err.Error() + ")"
		}
		list = append(list, out)
	}
	return list
}

func health(v channels.Verdict) api.Health {
	switch v {
	case channels.VerdictOK:
		return api.HealthOK
	case channels.VerdictFailed:
		return api.HealthFailed
	case channels.VerdictUnknown:
	}
	return api.HealthUnknown
}
