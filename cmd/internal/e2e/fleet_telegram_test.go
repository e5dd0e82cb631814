//go:build unix

package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels/fakes"
)

// metric reads one figure of a replica, "" where it has none.
func (r *replica) metric(name string) string {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.ctx, http.MethodGet, r.url+"/metrics", nil)
	require.NoError(r.t, err)
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	require.NoError(r.t, err)
	text, err := io.ReadAll(resp.Body)
	require.NoError(r.t, err)
	require.NoError(r.t, resp.Body.Close())
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindSubmatch(text)
	if found == nil {
		return ""
	}
	return string(found[1])
}

// polls finds the replica that polls the messenger, and the one that stands by.
func (f *fleet) polls() (holder, standby *replica) {
	f.t.Helper()
	bot, _, _ := strings.Cut(f.a.fake.Token(), ":")
	held := fmt.Sprintf(`sayso_lease_held{job="telegram/%s/poll"}`, bot)
	require.Eventually(f.t, func() bool {
		a, b := f.a.metric(held) == "1", f.b.metric(held) == "1"
		holder, standby = f.a, f.b
		if b {
			holder, standby = f.b, f.a
		}
		return a != b
	}, afterRestart, patiently, "nobody polls, or both do")
	return holder, standby
}

// One replica polls the bot. When it is lost the other one takes over: nothing that
// people pressed meanwhile is lost, and every card becomes true, whoever sent it.
func TestFleetTakesOverTheBot(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*replica){
		"killed": func(r *replica) { r.crash() }, "stopped": func(r *replica) { r.stop() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, setup{extra: "open_metrics: true\n"})
			page := f.a.alice()
			lost, left := f.polls()
			var ids []string
			var cards []fakes.Message
			for i, at := range []*replica{f.a, f.b, lost, left, lost} {
				title := fmt.Sprintf("%s %d", secretWord, i)
				ids = append(ids, at.ask(title))
				cards = append(cards, left.message(aliceChat, title, "Deny"))
			}
			page.at(lost).decide(ids[0], "deny") // Its card may not have heard of it when the replica is gone.
			lose(lost)
			require.Contains(t, left.press(aliceChat, cards[1], "Deny"), "You denied this.")
			for _, card := range cards[2:] {
				require.Contains(t, left.press(aliceChat, card, "Allow once"), "You allowed this once.")
			}
			left.becomes(cards[0], "Resolved elsewhere: denied by you on the page")
			left.becomes(cards[1], "Denied by you")
			for _, card := range cards[2:] {
				left.becomes(card, "Allowed once by you")
			}
			for _, id := range ids {
				left.converges(id)
			}
			require.Len(t, left.cards(secretWord), len(ids), "no card was sent twice")
		})
	}
}

// The replica that stands by does everything else, for example linking a chat with the
// link that its own command has printed.
func TestFleetLinksAtTheStandby(t *testing.T) {
	t.Parallel()
	f := newFleet(t, setup{extra: "open_metrics: true\n"})
	page := f.a.alice()
	_, standby := f.polls()
	bob := strings.TrimSpace(standby.cli("people", "add", "Bob", "--role", "reviewer").ends(0))
	standby.link(4712, "Bob B", bob)
	id := standby.ask(secretWord)
	standby.press(aliceChat, standby.message(aliceChat, secretWord, "Deny"), "Deny")
	standby.converges(id)
	require.Contains(t, page.at(f.b).get("/approve/"+id), "denied by you on Telegram")
}
