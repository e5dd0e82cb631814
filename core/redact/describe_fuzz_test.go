package redact_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/redact"
)

func FuzzDescribe(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"argv":["x","--token","y"],"env":["A=b"]}`, `{"command":"a\nb","cwd":"/x","more":[1]}`, `[["Cookie","x"]]`,
		`{"a":{"b":{"c":{"d":{"e":{"f":{"g":1}}}}}}}`, `"{\"password\":\"x\"}"`, `{"\u200b":"\u202e<&>","url":"https://a@b"}`,
		`[` + strings.Repeat(`"<<<<<<<<<<<<<<<<<<<<<<<<<<<<",`, 60) + `1e3]`, strings.Repeat("7", 400),
	} {
		f.Add([]byte(seed), "title", "agent", true)
		f.Add([]byte(seed), "", "\u200b", false)
	}
	f.Fuzz(func(t *testing.T, args []byte, title, agent string, exec bool) {
		a := core.RawAction{Kind: core.KindPlugin, Title: title, Summary: title + agent, Agent: agent, Tool: "x", Arguments: args}
		if exec {
			a.Kind = core.KindExec
		}
		d, err := redact.New().Describe(a)
		if err != nil {
			require.ErrorIs(t, err, core.ErrInvalid)
			return
		}
		requireBounds(t, a.Kind, d)
	})
}

func benchmarkDescribe(b *testing.B, size int) {
	var body strings.Builder
	for body.Len() < size-150 {
		body.WriteString("The quick brown fox: jumps over 13 lazy dogs, at https://example.com/a?b=c. ")
	}
	a := call(`{"to":["bob@example.com"],"subject":"Invoice 42","body":` + fmt.Sprintf("%q", body.String()[:size-150]) + `,"headers":{"Authorization":"Bearer abc"},"n":1.50}`)
	b.SetBytes(int64(len(a.Arguments)))
	b.ReportAllocs()
	r := redact.New()
	for b.Loop() {
		if _, err := r.Describe(a); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDescribe370B(b *testing.B) { benchmarkDescribe(b, 370) }

func BenchmarkDescribe16KB(b *testing.B) { benchmarkDescribe(b, 16<<10) }
