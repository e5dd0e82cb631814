package api

import "github.com/saysohq/sayso/core"

// Examine is the body of POST /v1/doctor.
type Examine struct {
	Cards  bool   `json:"cards,omitempty" doc:"Send a test card to everybody who is linked."`
	Person string `json:"person,omitempty" doc:"Send test cards to this person alone."`
	Fix    bool   `json:"fix,omitempty" doc:"Mend what can be mended from here."`
}

// Examination is the answer to POST /v1/doctor, and to GET /v1/doctor/{examination}
// with what became of its test cards since.
type Examination struct {
	ID         string      `json:"id"`
	Findings   []Finding   `json:"findings" nullable:"false"`
	Waiting    int         `json:"waiting" doc:"Test cards whose click has not come back yet."`
	ServerTime core.Millis `json:"server_time"`
}

// Health is what came of a check.
type Health string

// The results.
const (
	HealthOK      Health = "ok"
	HealthFailed  Health = "failed"
	HealthUnknown Health = "unknown" // It could not be told.
	HealthWaiting Health = "waiting" // A test card was sent and its click is awaited.
)

// Finding is the result of one check.
type Finding struct {
	Channel core.Surface `json:"channel,omitempty" doc:"Empty for what concerns no account."`
	Account string       `json:"account,omitempty"`
	Person  string       `json:"person,omitempty" doc:"Whom the test card went to, by id."`
	Name    string       `json:"name,omitempty" doc:"What to call them."`
	Check   string       `json:"check"`
	Verdict Health       `json:"verdict" enum:"ok,failed,unknown,waiting"`
	Detail  string       `json:"detail,omitempty" doc:"What was found."`
	Fix     string       `json:"fix,omitempty" doc:"What to do."`
	Mended  bool         `json:"mended,omitempty" doc:"It had failed and was mended."`
}
