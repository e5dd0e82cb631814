//go:build unix

package faults

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// shaped is a campaign in which some things happened.
func shaped(count int, happened map[string]int) *campaign {
	c := newCampaign(Options{Count: count}, &fault{name: "x", shows: []evidence{{"thing broken", 20, true}, {"others seen", 20, false}}})
	for what, times := range happened {
		c.count(what, times)
	}
	return c
}

// A campaign whose fault did not happen proves nothing: it is a failed one.
func TestEvidenceIsDemanded(t *testing.T) {
	t.Parallel()
	enough := map[string]int{"thing broken": 20, "others seen": 20, shownCards: 50}
	for name, c := range map[string]struct {
		count    int
		happened map[string]int
		missing  []string
	}{
		"all of it":                     {wholeCampaign, enough, nil},
		"nothing":                       {wholeCampaign, nil, []string{"thing broken", "others seen", shownCards}},
		"too little":                    {wholeCampaign, map[string]int{"thing broken": 19, "others seen": 20, shownCards: 50}, []string{"thing broken"}},
		"no more in a longer one":       {10 * wholeCampaign, enough, nil},
		"a share in a shorter one":      {wholeCampaign / 10, map[string]int{"thing broken": 2, "others seen": 2, shownCards: 5}, nil},
		"less than that":                {wholeCampaign / 10, map[string]int{"thing broken": 2, "others seen": 1, shownCards: 5}, []string{"others seen"}},
		"once in the shortest":          {1, map[string]int{"thing broken": 1, shownCards: 1}, nil},
		"never, even in the shortest":   {1, map[string]int{shownCards: 1}, []string{"thing broken"}},
		"no card in a campaign of them": {1, map[string]int{"thing broken": 1}, []string{shownCards}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			campaign := shaped(c.count, c.happened)
			campaign.convict()
			require.Len(t, campaign.found, len(c.missing))
			for i, what := range c.missing {
				require.Contains(t, campaign.found[i], noEvidence+what)
			}
		})
	}
}

// Every fault says how it can be told that it happened.
func TestEveryFaultHasEvidence(t *testing.T) {
	t.Parallel()
	for _, f := range all() {
		require.NotEmpty(t, f.shows, f.name)
		require.True(t, f.shows[0].always, "%s: even the shortest campaign has to show it", f.name)
	}
}

// The summary has a row for each fault, and the verdict is no better than the worst.
func TestConclusion(t *testing.T) {
	t.Parallel()
	row := func(found []string, failed error) *result {
		c := shaped(wholeCampaign, map[string]int{"thing broken": 23, killedReplicas: 5})
		c.found, c.stories = found, make([]*story, 40)
		return &result{c: c, failed: failed, took: time.Minute, got: counts{
			ended: map[string]int{"deny": 30, "allow-once": 10}, cards: map[string]int{"replaced": 100, "skipped": 20}, checks: 700,
		}}
	}
	broken := errors.New("no room for a town")
	for name, c := range map[string]struct {
		results []*result
		rows    []string
		last    string
		want    []error
	}{
		"survived":   {[]*result{row(nil, nil)}, []string{"x 40 40 23 5 120 700 1m0s survived"}, "1 faults in 1m0s, 0 not survived, 0 not run", nil},
		"violated":   {[]*result{row([]string{"lost"}, nil), row(nil, nil)}, []string{"1 VIOLATIONS", "survived"}, "2 faults in 1m0s, 1 not survived, 0 not run", []error{ErrViolated}},
		"broken off": {[]*result{row(nil, broken)}, []string{"BROKEN OFF"}, "1 faults in 1m0s, 0 not survived, 0 not run", []error{broken}},
		"both":       {[]*result{row(nil, broken), row([]string{"lost"}, nil)}, []string{"BROKEN OFF", "VIOLATIONS"}, "2 faults in 1m0s, 1 not survived, 0 not run", []error{broken, ErrViolated}},
		"not run":    {[]*result{row(nil, errNotHere), row(nil, nil)}, []string{"not run", "survived"}, "1 faults in 1m0s, 0 not survived, 1 not run", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var w bytes.Buffer
			err := conclude(&w, c.results, time.Minute)
			if len(c.want) == 0 {
				require.NoError(t, err)
			}
			for _, want := range c.want {
				require.ErrorIs(t, err, want)
			}
			lines := bytes.Split(bytes.TrimSpace(w.Bytes()), []byte("\n"))
			require.Len(t, lines, len(c.results)+2)
			for i, row := range c.rows {
				require.Contains(t, string(bytes.Join(bytes.Fields(lines[i+1]), []byte(" "))), row)
			}
			require.Equal(t, c.last, string(lines[len(lines)-1]))
		})
	}
}

// Each mutant still fits the source that it breaks, names a fault, and is noticed by what
// it breaks alone.
func TestMutantsFit(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, f := range all() {
		names[f.name] = true
	}
	for _, m := range mutants() {
		path, text, err := m.source(t.Context(), filepath.Join("..", "..", ".."))
		require.NoError(t, err)
		before, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NotEqual(t, string(before), string(text), m.name)
		require.True(t, names[m.fault], "%s: there is no fault %q", m.name, m.fault)
		require.NotEmpty(t, m.want, m.name)
		for _, want := range m.want {
			_, noticed := m.noticed([]string{noEvidence + want})
			require.False(t, noticed, m.name)
			_, noticed = m.noticed([]string{"one: " + want + " two"})
			require.True(t, noticed, m.name)
		}
	}
}
