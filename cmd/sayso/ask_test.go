package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What a person allows is bound to what they read: without arguments of its own a
// question is bound to its title.
func TestAskIsBoundToWhatItSays(t *testing.T) {
	t.Parallel()
	one, err := askArguments("", `Deploy "42"`)
	require.NoError(t, err)
	require.JSONEq(t, `{"question":"Deploy \"42\""}`, string(one))
	other, err := askArguments("", "Delete everything")
	require.NoError(t, err)
	require.NotEqual(t, one, other)
	given, err := askArguments(`{"to":"ann"}`, "Send")
	require.NoError(t, err)
	require.JSONEq(t, `{"to":"ann"}`, string(given))
	_, err = askArguments("{", "Send")
	require.Equal(t, exitUsage, faultCode(err))
}
