//go:build unix

package faults

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// server answers every piece that it hears, and tells what it heard.
func server(t *testing.T) (socket string, heard <-chan string) {
	t.Helper()
	folder, err := os.MkdirTemp("", "sayso-line-test-") //nolint:usetesting // Short, because a socket's path has a limit.
	require.NoError(t, err)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Join(folder, "s"))
	require.NoError(t, err)
	pieces := make(chan string, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				buffer := make([]byte, 1024)
				for {
					n, err := c.Read(buffer)
					if err != nil {
						return
					}
					pieces <- string(buffer[:n])
					if _, err := c.Write([]byte("answer")); err != nil {
						return
					}
				}
			}()
		}
	}()
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		require.NoError(t, os.RemoveAll(folder))
	})
	return l.Addr().String(), pieces
}

// speak says something over the line, and returns the answer.
func speak(n *line, text []byte) (string, error) {
	c, err := (&net.Dialer{}).DialContext(context.Background(), "unix", n.socket())
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return "", err
	}
	if _, err := c.Write(text); err != nil {
		return "", err
	}
	got := make([]byte, 100)
	size, err := c.Read(got)
	return string(got[:size]), err
}

func TestLine(t *testing.T) {
	t.Parallel()
	socket, heard := server(t)
	n, err := newLine(socket, "s")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.close()) })

	got, err := speak(n, []byte("hello"))
	require.NoError(t, err)
	require.Equal(t, "answer", got)
	require.Equal(t, "hello", <-heard)

	n.lower()
	_, err = speak(n, []byte("down"))
	require.Error(t, err)
	n.mend()

	commit := message('Q', "COMMIT\x00")
	n.cutCommits(func() commitCut { return cutBefore })
	_, err = speak(n, commit)
	require.ErrorIs(t, err, io.EOF)
	n.cutCommits(func() commitCut { return cutAfter })
	_, err = speak(n, commit)
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, string(commit), <-heard, "the second one arrived, and nothing before it")
	require.Equal(t, []int{1, 1}, []int{n.counted(metUnsent), n.counted(metUnheard)})
	require.Zero(t, n.counted(metDone), "that server does not speak of commits")
	require.Equal(t, 1, n.counted(metRefused))
	n.mend()

	n.stall()
	answered := make(chan string, 1)
	go func() {
		got, _ := speak(n, []byte("late")) // Whoever waits for the answer notices.
		answered <- got
	}()
	select {
	case <-answered:
		require.Fail(t, "it passed a partition")
	case <-time.After(50 * time.Millisecond): // Nothing is to be seen of what does not happen.
	}
	require.Equal(t, 1, n.counted(metHeld))
	n.mend()
	require.Equal(t, "answer", <-answered)
	require.Equal(t, "late", <-heard)
}
