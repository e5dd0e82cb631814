package client_test

import (
	"context"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/core/client"
)

// Every call of the client is one of the committed description, and every call of
// the description has one in the client.
func TestCallsAreThoseOfTheDescription(t *testing.T) {
	t.Parallel()
	described := describedCalls(t)
	x := serve(t, func(w http.ResponseWriter, _ int) { answer(w, http.StatusOK, `{}`) })
	for _, call := range everyCall(newClient(t, client.Config{BaseURL: x.base})) {
		require.NoError(t, call(t.Context()))
	}
	var made []string
	for _, r := range x.requests() {
		call := match(described, r)
		require.NotEmpty(t, call, "%s %s is not in the description", r.method, r.url)
		made = append(made, call)
	}
	slices.Sort(made)
	require.Equal(t, described, slices.Compact(made))
}

func everyCall(c *client.Client) []func(context.Context) error {
	const id = "bot:a/b" // Needs escaping wherever it stands.
	return []func(context.Context) error{
		func(ctx context.Context) error { _, err := c.Ask(ctx, api.Ask{}, 1); return err },
		func(ctx context.Context) error { _, err := c.Get(ctx, id); return err },
		func(ctx context.Context) error { _, err := c.Poll(ctx, id, 3, 1); return err },
		func(ctx context.Context) error {
			_, err := c.List(ctx, client.Filter{Agent: "a", Limit: 1}, "c")
			return err
		},
		func(ctx context.Context) error { _, err := c.Detail(ctx, id); return err },
		func(ctx context.Context) error { _, err := c.Resolve(ctx, id, api.Resolve{}); return err },
		func(ctx context.Context) error { _, err := c.Cancel(ctx, id); return err },
		func(ctx context.Context) error { _, err := c.DenyMalformed(ctx, id); return err },
		func(ctx context.Context) error { _, err := c.Claim(ctx, id, api.Claim{}); return err },
		func(ctx context.Context) error { _, err := c.Report(ctx, id, api.Report{}); return err },
		func(ctx context.Context) error {
			_, err := c.RegisterInstance(ctx, id, api.Register{BootID: "b"})
			return err
		},
		func(ctx context.Context) error { _, err := c.Run(ctx, id); return err },
		func(ctx context.Context) error { _, err := c.AbortRun(ctx, id); return err },
		func(ctx context.Context) error { _, err := c.Reply(ctx, id, api.Reply{}); return err },
		func(ctx context.Context) error { _, err := c.ClaimUpdates(ctx, id, api.ClaimUpdates{}); return err },
		func(ctx context.Context) error { _, err := c.AckUpdates(ctx, "", "token"); return err },
		func(ctx context.Context) error { _, err := c.Dismiss(ctx, id); return err },
		func(ctx context.Context) error { _, err := c.AskAgain(ctx, id); return err },
		func(ctx context.Context) error { _, err := c.SignIn(ctx, api.SignIn{}); return err },
		func(ctx context.Context) error { _, err := c.Me(ctx); return err },
		c.SignOut,
		func(ctx context.Context) error { _, err := c.People(ctx); return err },
		func(ctx context.Context) error { _, err := c.AddPerson(ctx, api.AddPerson{}); return err },
		func(ctx context.Context) error { _, err := c.ChangePerson(ctx, id, api.ChangePerson{}); return err },
		func(ctx context.Context) error { _, err := c.ApplyPeople(ctx, api.Roster{}, true); return err },
		func(ctx context.Context) error { return c.LinkIdentity(ctx, id, api.LinkIdentity{}) },
		func(ctx context.Context) error { return c.UnlinkIdentity(ctx, "slack:T/1", id) },
		func(ctx context.Context) error { _, err := c.Owners(ctx, "bot", id); return err },
		func(ctx context.Context) error { return c.SetOwners(ctx, "bot", id, nil) },
		func(ctx context.Context) error { _, err := c.Agents(ctx); return err },
		func(ctx context.Context) error { _, err := c.Agent(ctx, "bot", id); return err },
		func(ctx context.Context) error { _, err := c.SetMode(ctx, "bot", id, api.SetMode{}); return err },
		func(ctx context.Context) error { _, err := c.Pause(ctx, "bot", "", 1); return err },
		func(ctx context.Context) error { _, err := c.Resume(ctx, "bot", id, 1); return err },
		func(ctx context.Context) error { _, err := c.Reset(ctx, "bot", id); return err },
		func(ctx context.Context) error { _, err := c.DeleteAgent(ctx, "bot", id); return err },
		func(ctx context.Context) error { _, err := c.History(ctx, "bot", id, 5); return err },
		func(ctx context.Context) error {
			_, err := c.SwitchMoney(ctx, "bot", id, api.SwitchMoney{})
			return err
		},
		func(ctx context.Context) error {
			agent := ""
			_, err := c.Rules(ctx, client.RuleFilter{Runtime: "bot", Agent: &agent, Live: true, Limit: 1}, "c")
			return err
		},
		func(ctx context.Context) error { _, err := c.Rule(ctx, id); return err },
		func(ctx context.Context) error { _, err := c.RemoveRule(ctx, id); return err },
		func(ctx context.Context) error { _, err := c.Reopen(ctx, id); return err },
		func(ctx context.Context) error { _, err := c.Explain(ctx, api.Explain{}); return err },
		func(ctx context.Context) error { _, err := c.Lint(ctx, api.Lint{}); return err },
		func(ctx context.Context) error { _, err := c.PolicyStatus(ctx); return err },
		func(ctx context.Context) error { _, err := c.AdoptPolicy(ctx); return err },
		func(ctx context.Context) error { _, err := c.IssueCode(ctx, id, api.IssueCode{}); return err },
		func(ctx context.Context) error { _, err := c.IssueFirstCode(ctx, "link"); return err },
		func(ctx context.Context) error { _, err := c.Sessions(ctx, id); return err },
		func(ctx context.Context) error { return c.EndSession(ctx, id, id) },
		func(ctx context.Context) error { _, err := c.Tokens(ctx); return err },
		func(ctx context.Context) error { _, err := c.IssueToken(ctx, api.IssueToken{}); return err },
		func(ctx context.Context) error { return c.RevokeToken(ctx, id) },
		func(ctx context.Context) error { _, err := c.Examine(ctx, api.Examine{}); return err },
		func(ctx context.Context) error { _, err := c.Examination(ctx, id); return err },
	}
}

var (
	pathLine   = regexp.MustCompile(`^ {2}(/\S+):$`)
	methodLine = regexp.MustCompile(`^ {4}(get|put|post|patch|delete):$`)
)

// describedCalls lists "METHOD /path/{}" of the description, sorted.
func describedCalls(t *testing.T) []string {
	t.Helper()
	spec, err := os.ReadFile("../gateway/openapi.yaml")
	require.NoError(t, err)
	var calls []string
	path := ""
	for line := range strings.Lines(string(spec)) {
		line = strings.TrimSuffix(line, "\n")
		if m := pathLine.FindStringSubmatch(line); m != nil {
			path = m[1]
		} else if m := methodLine.FindStringSubmatch(line); m != nil {
			calls = append(calls, strings.ToUpper(m[1])+" "+path)
		}
	}
	require.NotEmpty(t, calls)
	slices.Sort(calls)
	return calls
}

// match finds the described call that a request makes; a fixed segment wins over a
// parameter.
func match(described []string, r request) string {
	best := ""
	target, _, _ := strings.Cut(r.url, "?")
	for _, call := range described {
		method, path, _ := strings.Cut(call, " ")
		want, got := strings.Split(path, "/"), strings.Split(target, "/")
		if method != r.method || len(want) != len(got) {
			continue
		}
		fits := true
		for i := range want {
			fits = fits && (want[i] == got[i] || strings.HasPrefix(want[i], "{") && got[i] != "")
		}
		if fits && (best == "" || strings.Count(call, "{") < strings.Count(best, "{")) {
			best = call
		}
	}
	return best
}
