package architecture_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	ruleNumber  = regexp.MustCompile(`\b[RK][0-9]{1,3}\b`)
	conformance = regexp.MustCompile(`(?i)\bconformance ([0-9]{1,3}(?:(?:, | and |-)[0-9]{1,3})*)`)
	storeCase   = regexp.MustCompile(`(?:"|// |Test[A-Za-z]*: )C([0-9]{1,3})\b`)
	suiteCase   = regexp.MustCompile(`\{"[a-z_]+((?:_[0-9]{2,3})+)", `)
	number      = regexp.MustCompile(`[0-9]+`)
	explained   = regexp.MustCompile(`(?m)^\| ([RK]?[0-9]+(?:, [0-9]+)*) \|`)
)

// Whoever reads a number in the code finds it explained: docs/rules.md has a row
// for every rule that is cited.
func TestCitedRulesAreExplained(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "rules.md"))
	require.NoError(t, err)
	known := map[string]bool{}
	for _, row := range explained.FindAllStringSubmatch(string(page), -1) {
		for n := range strings.SplitSeq(row[1], ", ") {
			require.False(t, known[n], "%s is explained twice", n)
			known[n] = true
		}
	}
	require.Greater(t, len(known), 200)
	missing := map[string]string{}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains([]string{".go", ".sql", ".js"}, filepath.Ext(path)) {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, n := range cited(string(text)) {
			if !known[n] {
				missing[n] = d.Name()
			}
		}
		return nil
	}))
	require.Empty(t, missing, "cited, but not explained in docs/rules.md")
}

// cited lists the rules that a file names: R and K with their letter, conformance
// cases as bare numbers.
func cited(text string) []string {
	found := ruleNumber.FindAllString(text, -1)
	for _, m := range conformance.FindAllStringSubmatch(text, -1) {
		found = append(found, expand(m[1])...)
	}
	for _, m := range storeCase.FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	for _, m := range suiteCase.FindAllStringSubmatch(text, -1) {
		found = append(found, number.FindAllString(m[1], -1)...)
	}
	return found
}

// expand turns "4-6, 9" into 4, 5, 6 and 9.
func expand(list string) []string {
	var all []string
	for part := range strings.SplitSeq(strings.ReplaceAll(list, " and ", ", "), ", ") {
		from, to, ranged := strings.Cut(part, "-")
		if !ranged {
			to = from
		}
		first, _ := strconv.Atoi(from)
		last, _ := strconv.Atoi(to)
		for n := first; n <= last; n++ {
			all = append(all, strconv.Itoa(n))
		}
	}
	return all
}

func TestCitationsAreFound(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"R22", "K9", "4", "5", "6", "9", "26"},
		cited("// R22 and K9; conformance 4-6, 9.\n// C26: a clock"))
}
