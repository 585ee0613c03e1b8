import { setTimeout as sleep } from 'node:timers/promises'
import type { ControlPlane } from '@tenure/test-control-plane'
import { absences, emptyMs, type Life } from '../../test/faults/endpoints/judge.ts'
import type { SliceVersion, SliceWatch } from '../../test/faults/endpoints/slice-watch.ts'
import { monotonicNow } from '../../test/faults/endpoints/slice-watch.ts'
import { type Figures, percentile, summary } from '../figures.ts'

/** How much to measure. */
export interface Rounds {
  readonly stops: number
  readonly kills: number
  readonly outages: number
  /** How long the slice is watched while nothing happens. */
  readonly minutes: number
}

/** What was measured. Times in milliseconds. */
export interface Samples {
  /** From SIGTERM until the address was out. */
  readonly sigtermOut: readonly number[]
  /** From SIGKILL until the address was out. */
  readonly sigkillOut: readonly number[]
  /** From the start of the process until its address was in. */
  readonly startIn: readonly number[]
  /** From when to when each replica had to be in. */
  readonly lives: readonly Life[]
  readonly steadyWritesPerMinute: number
  readonly versions: readonly SliceVersion[]
}

/** How long etcd is down. */
const OUTAGE_MS = 20_000

/** How long the slice is watched after an outage: the lease, the tick of upstream, and a margin. */
const AFTERMATH_MS = 30_000

/** Watches the slice while nothing happens, and while etcd is down and for a while after; returns the writes per minute of the former. */
export async function observeQuiet(server: ControlPlane, watch: SliceWatch, rounds: Rounds): Promise<number> {
  const from = monotonicNow()
  await sleep(rounds.minutes * 60_000)
  const writes = watch.writesSince(from)
  for (let round = 0; round < rounds.outages; round += 1) {
    await server.stopEtcd()
    await sleep(OUTAGE_MS)
    await server.startEtcd()
    await sleep(AFTERMATH_MS)
  }
  return writes / rounds.minutes
}

/** Prints the samples and returns their figures. */
export function endpointFigures(prefix: string, samples: Samples): Figures {
  const { sigtermOut, sigkillOut, startIn, lives, versions } = samples
  const absent = absences(versions, lives)
  console.log(summary(`${prefix}SIGTERM until out`, sigtermOut))
  console.log(summary(`${prefix}SIGKILL until out`, sigkillOut))
  console.log(summary(`${prefix}start until in`, startIn))
  for (const { address, ms } of absent)
    console.log(`${prefix}${address} was out for ${ms.toFixed(0)} ms while it lived`)
  return {
    [`${prefix}sigterm_out_p50_ms`]: percentile(sigtermOut, 0.5),
    [`${prefix}sigterm_out_p99_ms`]: percentile(sigtermOut, 0.99),
    [`${prefix}sigkill_out_p50_ms`]: percentile(sigkillOut, 0.5),
    [`${prefix}sigkill_out_max_ms`]: percentile(sigkillOut, 1),
    [`${prefix}start_in_p50_ms`]: percentile(startIn, 0.5),
    [`${prefix}steady_writes_per_minute`]: samples.steadyWritesPerMinute,
    [`${prefix}living_dropped`]: absent.length,
    [`${prefix}empty_ms`]: emptyMs(versions, lives),
  }
}
