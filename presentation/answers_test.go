package presentation_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/presentation"
)

func mine() presentation.Place {
	p := at("")
	p.Person = alice
	return p
}

// Every click is told what is true (invariant 8, R27, R186, conformance 96).
func TestAnswerResolved(t *testing.T) {
	t.Parallel()
	once := decided(execApproval(), core.DecisionAllowOnce)
	always := decided(pluginApproval(), core.DecisionAllowAlways)
	denied := decided(execApproval(), core.DecisionDeny)
	noted := denied
	noted.Note = "Wait."
	message := noted
	message.ByMessage = true
	bob := mine()
	bob.Person = "person-bob"
	late := mine()
	late.Now = asked.Add(72 * time.Hour)

	for _, c := range []struct {
		name           string
		record         core.Approval
		applied, again bool
		place          presentation.Place
		want           string
	}{
		{"allowed", once, true, false, mine(), "You allowed this once."},
		{"always names its scope", always, true, false, mine(), "You allowed this, and from now on without asking: mail to dora@example.com."},
		{"denied", denied, true, false, mine(), "You denied this."},
		{"with note", noted, true, false, mine(), "You denied this with your note."},
		{"by message", message, true, false, mine(), "You declined this with your message."},
		{"again by the same person", once, false, true, mine(), "You had already allowed this once, 14:03 UTC."},
		{"again after days", once, false, true, late, "You had already allowed this once, 30 Nov, 14:03 UTC."},
		{"same decision by another", once, false, true, bob, "Already decided: allowed once by Alice on Slack, 14:03 UTC."},
		{"lost the race", denied, false, false, bob, "Already decided: denied by Alice on Slack, 14:03 UTC."},
		{"lost against oneself", denied, false, false, mine(), "Already decided: denied by you on Slack, 14:03 UTC."},
		{"expired", ended(execApproval(), core.StatusExpired, core.ReasonTimeout), false, false, mine(), "Expired at 14:30 UTC: nobody answered in time."},
		{"cancelled", ended(execApproval(), core.StatusCancelled, core.ReasonRunAborted), false, false, mine(), "Cancelled at 14:03 UTC: the run was stopped."},
		{"mismatch", ended(execApproval(), core.StatusDenied, core.ReasonHashMismatch), true, false, mine(), "Denied at 14:03 UTC: the answer was for another action."},
		{"pending", execApproval(), false, false, mine(), "This still waits for an answer."},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, presentation.AnswerResolved(c.record, c.applied, c.again, c.place))
		})
	}
}

// The refusal names the id that was seen, and is the same for everybody (R155).
func TestAnswersToStrangers(t *testing.T) {
	t.Parallel()
	require.Equal(t, "You cannot answer this. If you should: give an admin your Telegram id, 4711.", presentation.AnswerNotYours("telegram", "4711"))
	require.Equal(t, "You cannot answer this. If you should: give an admin your Slack id, U1.", presentation.AnswerNotYours("slack:T1", "U1"))
	require.Contains(t, presentation.AnswerRefused("an anonymous admin"), "an anonymous admin")
	require.Contains(t, presentation.AnswerUnknownAccount("discord", "99"), "Discord id is 99")
	require.Equal(t, "You are Alice (reviewer). Your Telegram id is 4711.",
		presentation.AnswerWhoAmI(core.Principal{Name: "Alice", Role: core.RoleReviewer}, "telegram", "4711"))
	require.Contains(t, presentation.AnswerWhoAmI(core.Principal{Name: "Al", Role: core.RoleViewer, Disabled: true}, "telegram", "1"), "viewer, disabled")
	require.Contains(t, presentation.AnswerLinked(core.Principal{Name: "Alice"}), "Alice")
}

// No answer is longer than the smallest limit of the platforms: 200 UTF-16 units.
func TestAnswersStayWithinTheLimit(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("𝔸\\u{200B}", 60)
	a := decided(pluginApproval(), core.DecisionAllowAlways)
	a.ResolverName, a.AlwaysOffer.Label, a.Presentation.Title = long, long, long
	a.Execution, a.VoidReason = core.ExecutionVoided, core.VoidHashMismatch
	bob := at("")
	person := core.Principal{Name: long, Role: core.RoleReviewer}
	for name, text := range map[string]string{
		"resolved":  presentation.AnswerResolved(a, true, false, mine()),
		"again":     presentation.AnswerResolved(a, false, true, mine()),
		"state":     presentation.AnswerState(a, bob),
		"not yours": presentation.AnswerNotYours(long, long),
		"refused":   presentation.AnswerRefused(long),
		"who":       presentation.AnswerWhoAmI(person, long, long),
		"unknown":   presentation.AnswerUnknownAccount(long, long),
		"linked":    presentation.AnswerLinked(person),
		"waiting":   presentation.AnswerWaiting(1000, true),
		"line":      presentation.WaitingLine(a),
		"note":      presentation.PromptNote(a), "dialog": presentation.PromptNoteDialog(a),
		"link":    presentation.PromptLink(long, long, long, long),
		"foreign": presentation.AnswerForeign, "not ours": presentation.AnswerNotOurs,
		"original": presentation.AnswerOpenOriginal, "not recorded": presentation.AnswerNotRecorded,
		"full": presentation.AnswerStorageFull, "unclear": presentation.AnswerUnclear,
		"not shown": presentation.AnswerNotShown, "damaged": presentation.AnswerDamaged,
		"shared": presentation.AnswerCodeShared, "no card": presentation.AnswerNoCard,
	} {
		require.NotEmpty(t, text, name)
		require.LessOrEqual(t, len(utf16.Encode([]rune(text))), presentation.MaxAnswer, name)
		require.NotRegexp(t, `\\u\{[0-9A-F]*…`, text, "half an escape in "+name)
		require.NotContains(t, text, "\uFFFD", name)
	}
	require.LessOrEqual(t, len(presentation.PromptNoteTitle), 24)
	require.LessOrEqual(t, len(presentation.PromptNotePlaceholder), 64)
}

func TestWaitingList(t *testing.T) {
	t.Parallel()
	a := execApproval()
	require.Equal(t, approvalID+" · "+a.Fingerprint+" · Claude wants to run a command", presentation.WaitingLine(a))
	a.ID = "laptop:my id"
	require.True(t, strings.HasPrefix(presentation.WaitingLine(a), a.Ref), "a caller's own id is typed as its reference")
	require.Equal(t, "One question waits for you:", presentation.AnswerWaiting(1, false))
	require.Equal(t, "3 questions wait for you:", presentation.AnswerWaiting(3, false))
	require.Equal(t, "More than 20 questions wait for you; the newest:", presentation.AnswerWaiting(20, true))
}

func TestPromptTexts(t *testing.T) {
	t.Parallel()
	a := execApproval()
	require.Contains(t, presentation.PromptNote(a), "Claude wants to run a command")
	require.Contains(t, presentation.PromptNote(a), a.Fingerprint)
	require.Contains(t, presentation.PromptNoteDialog(a), "("+a.Fingerprint+"). Until you send it nothing is decided.")
	require.Equal(t, "Let this Telegram account (@x, id 4711) decide as Alice?", presentation.PromptLink("Alice", "telegram", "@x", "4711"))
	require.Contains(t, presentation.PromptLink("Alice", "telegram", "", "4711"), "no name")
}

func TestReviewURL(t *testing.T) {
	t.Parallel()
	require.Empty(t, presentation.ReviewURL("", "x"), "no address is ever guessed (R178)")
	require.Equal(t, "https://h/b/approve/x.js", presentation.ReviewURL("https://h/b/", "x.js"))
	require.Equal(t, "https://h/approve/laptop:a%2F..%2Fb", presentation.ReviewURL("https://h", "laptop:a/../b"))
}
