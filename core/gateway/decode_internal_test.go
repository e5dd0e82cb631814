package gateway

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// What decode accepts, every reader reads in the same way: no replaced characters,
// no member that a second one hides.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"a":1,"b":[true,null,{"a":"\ud83d\ude00"}]}`, `"\\ud800"`, `"\ud800"`, `"\udc00\ud800"`, `"\\\ud800"`, `{"a":1,"\u0061":2}`,
		`[{},{}]`, `{"":{"":{}}}`, `{"a":"a","b":"a"}`, "\"\xff\"", `{}{}`, ``, ` 1 `, `"\u12"`, `{"a":["b","b"],"c":"a"}`, `"\ufffd"`, "\"\ufffd\"",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var v any
		if decode(data, &v) != nil {
			return
		}
		require.True(t, utf8.Valid(data))
		require.True(t, json.Valid(data))
		again, err := json.Marshal(v)
		require.NoError(t, err)
		replaced := strings.Contains(string(again), "\ufffd") || strings.Contains(string(again), `\ufffd`)
		meant := strings.Contains(string(data), "\ufffd") || strings.Contains(strings.ToLower(string(data)), `\ufffd`)
		require.True(t, !replaced || meant, "a character was replaced")
	})
}

func TestDecodeText(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		`"\ud83d\ude00"`: true, `"\\ud800"`: true, `"\\\\ud800"`: true, `{"a":1,"A":2}`: true, `{"a":{"b":1},"b":{"b":1}}`: true,
		`"\ud800"`: false, `"\\\ud800"`: false, `"\ude00\ud83d"`: false, `{"a":1,"\u0061":2}`: false, `[{"b":1},{"b":1,"b":1}]`: false,
	} {
		var v any
		require.Equal(t, ok, decode([]byte(text), &v) == nil, text)
	}
}

// The limiter forgets full buckets only, so that nobody gains by its bound.
func TestLimiterBoundsItsMemory(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	l := newLimiter(1, 2)
	for range 2 {
		_, ok := l.take("busy", now)
		require.True(t, ok)
	}
	for i := range maxBuckets {
		l.take(fmt.Sprintf("idle-%d", i), now.Add(-time.Hour))
	}
	l.take("one more", now)
	require.Less(t, len(l.buckets), 10)
	wait, ok := l.take("busy", now)
	require.False(t, ok)
	require.Equal(t, time.Second, wait)
}
