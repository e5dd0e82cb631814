package core

import "time"

// Millis is a point in time of the deployment's clock: unix milliseconds, UTC.
// Zero means "not set".
type Millis int64

// MillisOf converts a time, dropping what is below a millisecond.
func MillisOf(t time.Time) Millis { return Millis(t.UnixMilli()) }

// Time converts to UTC.
func (m Millis) Time() time.Time { return time.UnixMilli(int64(m)).UTC() }

// Add shifts by d, which is cut to whole milliseconds.
func (m Millis) Add(d time.Duration) Millis { return m + Millis(d.Milliseconds()) }

// Sub is the time from o to m.
func (m Millis) Sub(o Millis) time.Duration { return time.Duration(m-o) * time.Millisecond }

// Reached reports whether the deadline m has come at now. A deadline that is
// exactly now has been reached (R28); an unset one never is.
func (m Millis) Reached(now Millis) bool { return m != 0 && now >= m }
