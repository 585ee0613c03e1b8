import type { StoredLease } from '../cluster/leases.ts'
import type { StreamOptions } from '../status/lease-stream.ts'
import type { Terminal } from '../terminal.ts'
import { type RecordedSighting, sightingOf } from './watch-log.ts'

/** The part of `followLeases()` that turns what is followed into sightings. */
export function sightings(
  take: (sighting: RecordedSighting) => void,
  { clock }: Pick<Terminal, 'clock'>,
): Pick<StreamOptions, 'onLease' | 'onDeleted'> {
  return {
    onLease: ({ namespace, name, object }: StoredLease) =>
      take(sightingOf(namespace, name, { wallTime: clock.wallTime(), object })),
    onDeleted: (key: string) => {
      const [namespace = '', name = ''] = key.split('/')
      take(sightingOf(namespace, name, { wallTime: clock.wallTime() }))
    },
  }
}
