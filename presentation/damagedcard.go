package presentation

import "github.com/saysohq/sayso/core"

const damagedText = "This question has ended. Its record was damaged, so nobody can say here what became of it. Please tell an admin."

// DamagedCard takes the place of the card of an approval that was answered or ended and
// whose record was damaged afterwards: it has no buttons, and tells neither what was
// asked nor what was answered, because nothing of that can be believed any more.
// revision is the card revision that it shows.
func DamagedCard(approvalID string, kind core.Kind, revision int64) Card {
	return Card{
		ApprovalID: approvalID, Kind: kind, Status: core.StatusDenied, Class: core.ClassRead, Revision: revision,
		Title: core.DamagedTitle, Outcome: &Outcome{Text: damagedText},
	}
}
