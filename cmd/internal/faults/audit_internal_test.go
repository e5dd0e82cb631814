//go:build unix

package faults

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/channels/fakes/slack"
	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/api"
	"github.com/saysohq/sayso/presentation"
)

// The audit is worth nothing unless it notices: each case breaks one promise.
func TestAuditNotices(t *testing.T) {
	t.Parallel()
	const id = "one"
	allowed := row{
		id: id, status: core.StatusAllowed, decision: core.DecisionAllowOnce, surface: core.SurfaceSlack, execution: core.ExecutionSucceeded,
	}
	denied := row{id: id, status: core.StatusDenied, decision: core.DecisionDeny, surface: core.SurfacePage, execution: core.ExecutionNone}
	unclaimed := allowed
	unclaimed.execution = core.ExecutionUnclaimed
	won := []attempt{{waySlack, core.DecisionAllowOnce, toldWon}}
	cases := map[string]struct {
		row   row
		story story
		want  string // "" where nothing is wrong.
	}{
		"all is well":       {row: allowed, story: story{attempts: won, tried: 1, runs: []string{"r"}, reported: true}},
		"a denial":          {row: denied, story: story{attempts: []attempt{{wayAPI, core.DecisionDeny, toldWon}}, tried: 1}},
		"an answer unheard": {row: denied, story: story{attempts: []attempt{{wayPage, core.DecisionDeny, toldSilence}, {wayAPI, core.DecisionAllowOnce, toldLost}}}},
		"changed": {
			row: denied, story: story{attempts: won}, want: "was acknowledged, and the record says",
		},
		"changed after the page": {
			row: denied, story: story{attempts: []attempt{{wayPage, core.DecisionAllowOnce, toldSettled}}}, want: "was acknowledged, and the record says",
		},
		"two winners": {
			row:   allowed,
			story: story{tried: 1, runs: []string{"r"}, attempts: []attempt{{waySlack, core.DecisionAllowOnce, toldWon}, {waySlackCommand, core.DecisionAllowOnce, toldWon}}},
			want:  "2 answers were told that they had decided",
		},
		"not recorded, and it is": {
			row: denied, story: story{attempts: []attempt{{wayPage, core.DecisionDeny, toldNothing}, {wayAPI, core.DecisionAllowOnce, toldLost}}},
			want: "somebody was told that nothing was recorded, and it is",
		},
		"not recorded, and then it had been": {
			row: allowed, story: story{attempts: []attempt{{waySlack, core.DecisionAllowOnce, toldNothing}, {waySlack, core.DecisionAllowOnce, toldSame}}},
			want: "somebody was told that nothing was recorded, and it is",
		},
		"lost to nobody": {
			row: denied, story: story{attempts: []attempt{{wayAPI, core.DecisionDeny, toldLost}}}, want: "the only answer there was lost",
		},
		"ended by nobody": {row: row{id: id, status: core.StatusExpired}, want: "nobody's answer ended it"},
		"run without an allow": {
			row: denied, story: story{runs: []string{"r"}, tried: 1}, want: "it ran without an allow",
		},
		"run without a claim": {
			row: unclaimed, story: story{attempts: won, runs: []string{"r"}, tried: 1}, want: "it ran, and its grant is recorded as unclaimed",
		},
		"granted to nobody": {
			row: unclaimed, story: story{attempts: won, tried: 2}, want: "no runner of 2 got it",
		},
		"claimed by nobody": {
			row: allowed, story: story{attempts: won, tried: 1}, want: "no runner of 1 got it",
		},
		"a lost outcome": {
			row:   row{id: id, status: core.StatusAllowed, decision: core.DecisionAllowOnce, surface: core.SurfaceSlack, execution: core.ExecutionClaimed},
			story: story{attempts: won, runs: []string{"r"}, tried: 1, reported: true}, want: "its outcome was acknowledged",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &audit{rows: map[string]row{id: c.row}, counts: newCounts(), once: true}
			c.story.approval = api.Approval{ID: id}
			a.decided(&c.story)
			a.executed(&c.story)
			if c.want == "" {
				require.Empty(t, a.found)
				return
			}
			require.NotEmpty(t, a.found)
			require.Contains(t, a.found[0], c.want)
		})
	}
}

// A question that was acknowledged and is gone is noticed.
func TestAuditMissesAQuestion(t *testing.T) {
	t.Parallel()
	a := &audit{rows: map[string]row{}, counts: newCounts()}
	a.decided(&story{approval: api.Approval{ID: "gone"}})
	require.Equal(t, []string{"gone: it was acknowledged and is not recorded"}, a.found)
}

func TestHeard(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]told{
		"":                                   toldSilence,
		slack.NotTaken:                       toldSilence,
		byCard:                               toldWon,
		"You allowed this once.":             toldWon,
		"You denied this.":                   toldWon,
		"You had already denied this, 10:00": toldSame,
		"Already decided: denied by Ann":     toldLost,
		presentation.AnswerNotRecorded:       toldNothing,
		presentation.AnswerStorageFull:       toldNothing,
		presentation.AnswerNoCard:            toldNothing,
		presentation.AnswerUnclear:           toldUnclear,
	} {
		require.Equal(t, want, heard(text), text)
	}
}

// message is one of PostgreSQL's protocol.
func message(kind byte, body string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)+4)), body...)
}

func TestCommits(t *testing.T) {
	t.Parallel()
	join := func(parts ...[]byte) (all []byte) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	execute, sync := message('E', "\x00\x00\x00\x00\x00"), message('S', "")
	for name, c := range map[string]struct {
		piece []byte
		want  bool
	}{
		"a commit":           {message('Q', "COMMIT\x00"), true},
		"a rollback":         {message('Q', "ROLLBACK\x00"), false},
		"a read":             {join(execute, sync), false},
		"a read of two":      {join(execute, execute, sync), false},
		"a batch of a write": {join(message('B', "bind"), execute, message('B', "bind"), execute, execute, sync), true},
		"half a message":     {message('Q', "COMMIT\x00")[:8], false},
		"nothing":            {nil, false},
	} {
		require.Equal(t, c.want, commits(c.piece), name)
	}
}

func TestCommitted(t *testing.T) {
	t.Parallel()
	join := func(parts ...[]byte) []byte { return slices.Concat(parts...) }
	done, idle, open := message('C', "COMMIT\x00"), message('Z', "I"), message('Z', "T")
	for name, c := range map[string]struct {
		piece []byte
		want  bool
	}{
		"committed":         {join(done, idle), true},
		"not yet":           {done, false},
		"inside":            {join(done, open), false},
		"refused":           {join(message('E', "deadlock"), idle), false},
		"cut off":           {join(done, idle)[:12], false},
		"refused, and more": {join(message('E', "deadlock"), done, idle), false},
		"nothing":           {nil, false},
	} {
		require.Equal(t, c.want, committed(c.piece), name)
	}
}
