package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/cmd/internal/config"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/deliveries"
)

// oneBot is a configured bot with a listed chat and an origin.
const oneBot = "telegram: [{token: '" + token + "', chats: ['-1009'], origins: ['-1005', '-1006/7']}]\n"

func TestRoutes(t *testing.T) {
	t.Parallel()
	cfg, err := config.Load(write(t, oneBot+`
routes:
  - name: payments
    match: {class: [money], kind: plugin, runtime: ["ci-*"], agent: [books, "billing-*"], session: ["telegram:*"]}
    to: [approvers, "telegram:123456789:-1001/1", "telegram:-1002/5"]
    order: [telegram]
    escalate_after: 90s
  - match: {runtime: scratch}
    to: page
  - to: [origin, chats]
    fallback: approvers
    order: [telegram]
`), []string{"HOME=/h"}, nil)
	require.NoError(t, err)
	bot := core.AccountRef{Channel: core.SurfaceTelegram, Account: "123456789"}
	want := []deliveries.Rule{
		{
			Name: "payments",
			Match: deliveries.Match{
				Classes: []core.Class{core.ClassMoney}, Kinds: []core.Kind{core.KindPlugin},
				Runtimes: []string{"ci-*"}, Agents: []string{"books", "billing-*"}, Sessions: []string{"telegram:*"},
			},
			To: deliveries.Targets{
				Approvers: true, Chats: []deliveries.Chat{{Ref: bot, Address: "-1001"}, {Ref: bot, Address: "-1002/5"}},
			},
			Order: []core.Surface{core.SurfaceTelegram}, EscalateAfter: 90 * time.Second,
		},
		{Name: "2", Match: deliveries.Match{Runtimes: []string{"scratch"}}, EscalateAfter: 5 * time.Minute},
		{
			Name: "3", To: deliveries.Targets{Origin: true, Listed: true}, Fallback: true,
			Order: []core.Surface{core.SurfaceTelegram}, EscalateAfter: 5 * time.Minute,
		},
	}
	require.Empty(t, cmp.Diff(want, cfg.Rules()))
	require.Empty(t, cmp.Diff([]deliveries.Account{{Ref: bot, Chats: []string{"-1009"}, Origins: []string{"-1005", "-1006/7"}}},
		cfg.Accounts(), cmpopts.IgnoreFields(deliveries.Account{}, "Canonical")))
	for address, want := range map[string]string{
		"-1001": "-1001", "-01001": "-1001", "-1001/1": "-1001", "-1001/01": "-1001", "-1001/05": "-1001/5", "42": "42",
		"": "", "0": "", "-0": "", "-1001/": "", "-1001/0": "", "-1001/x": "", "@name": "", "-1001/5/6": "", "99999999999999999999": "",
	} {
		got, ok := cfg.Accounts()[0].Canonical(address)
		require.Equal(t, want, got, address)
		require.Equal(t, want != "", ok, address)
	}
}

func TestNoRoutesNeedNothing(t *testing.T) {
	t.Parallel()
	cfg, err := config.Load("", []string{"HOME=/h"}, nil)
	require.NoError(t, err)
	require.Empty(t, cfg.Rules())
	require.Empty(t, cfg.Accounts())
}

// Every mistake in the table is a fault at the start, said in words, without the
// value that is wrong.
func TestRouteFaults(t *testing.T) {
	t.Parallel()
	const marker = "Zq7"
	for routes, want := range map[string]string{
		"[{too: [page]}]":                      "routes[0]: unknown keys: too",
		"[{to: [page], match: {colour: red}}]": "routes[0].match: unknown keys: colour",
		"[{to: [page], match: red}]":           "wrong type",
		"[{to: [page], escalate_after: Zq7}]":  "wrong type",
		"[{}]":                                 "routes[0].to: is required",
		"[{to: []}]":                           "routes[0].to: is required",
		"[{to: [Zq7]}]":                        "routes[0].to[0]: must be approvers",
		"[{to: [page, approvers]}]":            "routes[0].to[0]: stands alone",
		"[{to: [approvers, approvers]}]":       "routes[0].to[1]: is listed already",
		"[{to: ['Zq7:1:2']}]":                  "routes[0].to[0]: names an unknown channel",
		"[{to: ['page:1:2']}]":                 "names an unknown channel",
		"[{to: ['telegram:77:-1001']}]":        "names an account that is not configured",
		"[{to: ['slack:T1.A1:C1']}]":           "names an account that is not configured",
		"[{to: ['discord:C1']}]":               "names an account that is not configured",
		"[{to: ['telegram:Zq7']}]":             "does not end in an address",
		"[{to: ['telegram:123456789:']}]":      "does not end in an address",
		"[{to: ['telegram:-1001', 'telegram:123456789:-1001/1']}]":                             "routes[0].to[1]: is listed already, in another spelling",
		"[{to: [page], match: {class: [Zq7]}}]":                                                "routes[0].match.class[0]: must be read, write, send or money",
		"[{to: [page], match: {kind: [Zq7]}}]":                                                 "routes[0].match.kind[0]: must be exec or plugin",
		"[{to: [page], match: {class: []}}]":                                                   "routes[0].match.class: can never match: the list is empty",
		"[{to: [page], match: {agent: []}}]":                                                   "routes[0].match.agent: can never match: the list is empty",
		"[{to: [page], match: {agent: [a, a]}}]":                                               "routes[0].match.agent[1]: is listed already",
		"[{to: [page], match: {kind: [exec, exec]}}]":                                          "routes[0].match.kind[1]: is listed already",
		"[{to: [page], match: {agent: ['']}}]":                                                 "routes[0].match.agent[0]: must be 1-256 bytes",
		"[{to: [page], match: {session: [\"Zq7\\n\"]}}]":                                       "routes[0].match.session[0]: must be 1-256 bytes",
		"[{to: [page], match: {runtime: [Zq7]}}]":                                              "routes[0].match.runtime[0]: can never match",
		"[{to: [page], match: {runtime: ['" + long + "']}}]":                                   "routes[0].match.runtime[0]: can never match",
		"[{to: [page]}, {to: [chats]}]":                                                        "routes[1].match: can never match: routes[0] takes all of it",
		"[{to: [page], match: {agent: 'a*'}}, {to: [page], match: {agent: ab, class: money}}]": "routes[1].match: can never match",
		"[{to: [page], fallback: Zq7}]":                                                        "routes[0].fallback: must be approvers or none",
		"[{to: [page], fallback: approvers}]":                                                  "routes[0].fallback: has no effect: the rule names no chat",
		"[{to: [approvers, chats], fallback: approvers}]":                                      "routes[0].fallback: has no effect: the rule tells the approvers anyway",
		"[{to: [chats], order: [telegram]}]":                                                   "routes[0].order: has no effect",
		"[{to: [approvers], order: [Zq7]}]":                                                    "routes[0].order[0]: must be telegram, slack or discord",
		"[{to: [approvers], order: [telegram, telegram]}]":                                     "routes[0].order[1]: is listed already",
		"[{to: [approvers], order: [slack]}]":                                                  "routes[0].order[0]: needs a configured account",
		"[{to: [approvers], escalate_after: 1m}]":                                              "routes[0].escalate_after: has no effect without order",
		"[{to: [approvers], order: [telegram], escalate_after: 5}]":                            "routes[0].escalate_after: must be from 10s to 168h",
		"[{to: [approvers], order: [telegram], escalate_after: 169h}]":                         "routes[0].escalate_after: must be from 10s to 168h",
		"[{to: [approvers], order: [telegram], escalate_after: -1m}]":                          "routes[0].escalate_after: must be from 10s to 168h",
		"[{name: ZQ7, to: [page]}]":                                                            "routes[0].name: must be 1-40",
		"[{name: a, to: [page], match: {agent: x}}, {name: a, to: [page]}]":                    "routes[1].name: belongs to another rule",
		"[{name: default, to: [page]}]":                                                        "routes[0].name: belongs to another rule",
	} {
		_, err := config.Load(write(t, oneBot+"routes: "+routes), []string{"HOME=/h"}, nil)
		require.ErrorContains(t, err, want, routes)
		require.NotContains(t, strings.ToUpper(err.Error()), strings.ToUpper(marker), routes)
	}
}

const long = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" // One character more than a runtime's name may have.

func TestRoutesNeedWhatTheyName(t *testing.T) {
	t.Parallel()
	bare := "telegram: [{token: '" + token + "'}]\n"
	two := "telegram: [{token: '" + token + "'}, {token: '2" + token + "'}]\n"
	for text, want := range map[string]string{
		"routes: [{to: [approvers]}]":                                         "needs a configured messenger",
		bare + "routes: [{to: [chats]}]":                                      "needs chats listed for an account",
		bare + "routes: [{to: [origin]}]":                                     "needs origins listed for an account",
		two + "routes: [{to: ['telegram:-1']}]":                               "must name the account",
		"telegram: [{token: '" + token + "', origins: [me]}]":                 "telegram[0].origins[0]: must be a chat id",
		"telegram: [{token: '" + token + "', origins: ['-1005', '-1005/1']}]": "telegram[0].origins[1]: is listed already",
		"telegram: [{token: '" + token + "', chats: ['0']}]":                  "telegram[0].chats[0]: must be a chat id",
		"routes: [" + strings.Repeat("{to: [page]},", 201) + "]":              "at most 200 rules",
	} {
		_, err := config.Load(write(t, text), []string{"HOME=/h"}, nil)
		require.ErrorContains(t, err, want, text)
	}
	_, err := config.Load(write(t, "telegram: [{token_file: /does/not/exist}]\nroutes: [{to: ['telegram:5:-1', approvers]}]"), []string{"HOME=/h"}, nil)
	require.ErrorContains(t, err, "cannot be read")
	require.NotContains(t, err.Error(), "routes", "one fault is one line")
}

// All faults come at once, the unknown keys too.
func TestAllRouteFaultsAtOnce(t *testing.T) {
	t.Parallel()
	_, err := config.Load(write(t, oneBot+`
listen: nowhere
routes:
  - {too: x, to: [page]}
  - {to: [smoke], match: {class: [gold], agent: x}}
  - {to: ["telegram:5:-1"], order: [fax], fallback: maybe, escalate_after: 1s}
`), []string{"HOME=/h"}, nil)
	for _, want := range []string{
		"unknown keys: too", "listen:", "routes[1].to[0]", "routes[1].match.class[0]",
		"routes[2].to[0]", "routes[2].order", "routes[2].order[0]", "routes[2].fallback", "routes[2].escalate_after", "routes[2].match: can never match",
	} {
		require.ErrorContains(t, err, want)
	}
}
