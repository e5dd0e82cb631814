package presentation

import (
	"time"

	"github.com/saysohq/sayso/core"
)

// Clock words a point in time in a zone with the zone's name: "14:03 UTC" on the
// day of ref, otherwise with the date, and with the year where that differs too. A
// nil zone is UTC.
//
// Cards take the day of the request as ref, never "today": the same record must
// read the same on every surface, whenever it is rendered.
func Clock(at, ref core.Millis, zone *time.Location) string {
	if zone == nil {
		zone = time.UTC
	}
	t, r := at.Time().In(zone), ref.Time().In(zone)
	switch {
	case t.Year() != r.Year():
		return t.Format("2 Jan 2006, 15:04 MST")
	case t.YearDay() != r.YearDay():
		return t.Format("2 Jan, 15:04 MST")
	}
	return t.Format("15:04 MST")
}
