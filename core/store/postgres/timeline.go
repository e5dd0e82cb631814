package postgres

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"

	"github.com/saysohq/sayso/core"
	"github.com/saysohq/sayso/core/store/internal/record"
)

// Failover says what to do when the server is another one than at the last start: a
// standby that took over, a recovery to a point in time, a dump in another cluster.
// Each of them may have lost what was acknowledged.
type Failover string

// What to do.
const (
	// FailoverRefuse does not serve before an operator has said what was lost.
	FailoverRefuse Failover = ""
	// FailoverContinue is for standbys that are synchronous: nothing that was
	// acknowledged is ever lost.
	FailoverContinue Failover = "continue"
)

// ErrFailover is a database that may be behind what was acknowledged. It is also a
// core.ErrUnavailable.
var ErrFailover = fmt.Errorf("the database failed over or was restored since the last start, and may have lost answers: "+
	"stop all replicas and run sayso restore --in-place: %w", core.ErrUnavailable)

const (
	// The insertion's timeline, which is the new one as soon as a standby is promoted;
	// that of the control file follows with the next checkpoint. -1 is a standby.
	sqlTimeline = `SELECT CASE WHEN pg_is_in_recovery() THEN -1
		ELSE ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint END`
	sqlCluster = `SELECT system_identifier::text FROM pg_control_system()`
	sqlHistory = `SELECT cluster, timeline FROM deployment WHERE singleton = 1 FOR UPDATE`
	sqlNote    = `UPDATE deployment SET cluster = $1, timeline = $2 WHERE singleton = 1`
)

// history is where a server's commits come from. What a server does not tell is zero,
// and changes with nothing.
type history struct {
	cluster  string // The system identifier: made with the cluster, shared by its standbys.
	timeline int64  // Begun anew by every promotion and recovery.
}

// differs reports whether two servers are known to be different ones.
func (h history) differs(o history) bool {
	return (h.cluster != "" && o.cluster != "" && h.cluster != o.cluster) ||
		(h.timeline != 0 && o.timeline != 0 && h.timeline != o.timeline)
}

// or fills what is not known.
func (h history) or(o history) history {
	if h.cluster == "" {
		h.cluster = o.cluster
	}
	if h.timeline == 0 {
		h.timeline = o.timeline
	}
	return h
}

// history asks the server. A provider that hides such things, or has none, is not one
// that cannot be served from.
func (s *Store) history(ctx context.Context) (history, error) {
	var h history
	q := reader{ctx, s}
	for _, ask := range []struct {
		query string
		into  any
	}{{sqlCluster, &h.cluster}, {sqlTimeline, &h.timeline}} {
		if err := q.One(ask.query, nil, ask.into); err != nil && !untold(err) {
			return history{}, fmt.Errorf("read timeline: %w", err)
		}
	}
	return h, nil
}

// untold reports whether a server does not tell such things.
func untold(err error) bool {
	switch stateOf(err) {
	case "42501", "42883", "0A000": // Not permitted, no such function, not supported.
		return true
	}
	return false
}

// recognise compares the server with that of the last start, in the write that
// adopts the deployment. Whoever restores it says later which server it is; until
// then nothing is noted.
func (s *Store) recognise(c record.Conn, now history, policy Failover) error {
	var last history
	if err := c.One(sqlHistory, nil, &last.cluster, &last.timeline); err != nil {
		return err
	}
	if last.differs(now) {
		if policy != FailoverContinue {
			return ErrFailover
		}
		s.log.Warn("the database failed over since the last start", slog.Int64("timeline", now.timeline))
	}
	known := now.or(last)
	if known == last {
		return nil
	}
	_, err := c.Exec(sqlNote, known.cluster, known.timeline)
	return err
}

// sameServer refuses a connection that leads to another server than the others did:
// a standby, or one that took over. Before the store knows its server it refuses
// standbys alone.
func (s *Store) sameServer(ctx context.Context, c *pgx.Conn) error {
	var timeline int64
	switch err := c.QueryRow(ctx, sqlTimeline).Scan(&timeline); {
	case untold(err):
		return nil
	case err != nil:
		return err
	}
	known := s.timeline.Load()
	switch {
	case timeline < 0:
		return ErrStandby
	case known != 0 && known != timeline && s.failover != FailoverContinue:
		return ErrFailover
	}
	return nil
}
