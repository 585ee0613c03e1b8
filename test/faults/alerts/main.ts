/*
 * Strikes fleets of real replicas on a real control plane with one fault for each alert, scrapes their metrics over HTTP, and lets the
 * rule engine of Prometheus decide which alerts fire: the own one of the fault, and no other.
 *
 * The rules are those that users get, with their times. They are made for leases of 15 s. These fleets have leases of 3 s, so every sample
 * counts as taken five times later than it was. `--only TEXT` runs the faults whose name or alert has the text, `--part 1/3` a third of
 * them.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { writeFigures } from '../../../bench/figures.ts'
import { partOf } from '../../../bench/part-of.ts'
import { allOf } from '../all-of.ts'
import { Arena } from '../arena.ts'
import { Fleet } from '../fleet.ts'
import { ALERT_FAULTS, type AlertFault, fleetOptions, LEASE_MS, STORE_FAULT } from './alert-faults.ts'
import { firedAlerts } from './fired-alerts.ts'
import { Scraper } from './scraper.ts'

const RULES = join(import.meta.dirname, '../../../packages/ops/monitoring/tenure.rules.yaml')
const SCRAPE_MS = 500
const SCALE = 15_000 / LEASE_MS

/** How many fleets live at the same time. More of them keep two processors so busy that their leaders renew late. */
const LANES = 3

/** How long a fleet is scraped before the fault strikes, in lease durations. */
const CALM = 2

const { values } = parseArgs({
  options: {
    json: { type: 'string' },
    only: { type: 'string', default: '' },
    part: { type: 'string', default: '1/1' },
  },
})
const selected = [...ALERT_FAULTS, STORE_FAULT]
  .filter(({ name, alert }) => `${name} ${alert}`.includes(values.only))
  .filter(partOf('--part', values.part))
if (selected.length === 0)
  throw new Error(`Expected a fault to match, got \`--only "${values.only}" --part ${values.part}\``)

/** A fault, and the alerts that fired. */
interface Outcome {
  readonly fault: AlertFault
  readonly fired: readonly string[]
  /** What the replicas of the fleet did, to explain a failure. */
  readonly events: readonly string[]
}

const begun = performance.now()
await using arena = await Arena.start()
console.log(`two API servers are ready after ${seconds()} s`)
const outcomes = await inLanes(selected.filter((fault) => fault !== STORE_FAULT))
if (selected.includes(STORE_FAULT)) outcomes.push(await tryFault(STORE_FAULT))

const others = ({ fault, fired }: Outcome) => fired.filter((alert) => alert !== fault.alert)
const figures = {
  rules: new Set(outcomes.flatMap(({ fault }) => fault.alert ?? [])).size,
  fired_by_own_fault: outcomes.filter(({ fault, fired }) => fired.some((alert) => alert === fault.alert)).length,
  fired_by_others: outcomes.flatMap(others).length,
  faults: outcomes.length,
}
for (const outcome of outcomes) {
  const { fault, fired } = outcome
  const isRight = fired.length === (fault.alert === undefined ? 0 : 1) && others(outcome).length === 0
  console.log(
    `${isRight ? 'ok    ' : 'FAILED'} ${fault.name}: expected ${fault.alert ?? 'nothing'}, got ${fired.join(', ') || 'nothing'}`,
  )
  if (isRight) continue
  process.exitCode = 1
  console.log(outcome.events.join('\n'))
}
await writeFigures(values.json, figures)
console.log(figures, `after ${seconds()} s`)

/** Tries all, the longest first. */
async function inLanes(faults: readonly AlertFault[]): Promise<Outcome[]> {
  const waiting = faults.toSorted((a, b) => b.lasts - a.lasts)
  const done: Outcome[] = []
  const lane = async (): Promise<void> => {
    for (let fault = waiting.shift(); fault !== undefined; fault = waiting.shift()) done.push(await tryFault(fault))
  }
  await allOf(Array.from({ length: LANES }, lane))
  return done
}

async function tryFault(fault: AlertFault): Promise<Outcome> {
  const beganAt = Date.now()
  const fleets: Fleet[] = []
  try {
    for (let count = 0; count <= (fault.strays ?? 0); count++)
      fleets.push(await Fleet.start(arena, fleetOptions(fault)))
    const [fleet] = fleets
    if (fleet === undefined) throw new Error('Expected a fleet')
    const targets = () =>
      fleets.flatMap(({ namespace, replicas }) =>
        replicas.map((replica) => ({ pod: `${namespace}-${replica.identity}`, replica })),
      )
    const scraper = Scraper.start(targets, SCRAPE_MS)
    try {
      await sleep(CALM * LEASE_MS)
      await fault.strike({ cluster: arena.cluster, fleet })
      await sleep(fault.lasts * LEASE_MS)
    } finally {
      await scraper.stop()
    }
    const { series, length } = await scraper.stop()
    const fired = await firedAlerts({ rules: RULES, series, length, intervalMs: SCRAPE_MS * SCALE })
    return { fault, fired, events: fleet.eventsSince(beganAt) }
  } finally {
    await Promise.all(fleets.map((fleet) => fleet[Symbol.asyncDispose]()))
  }
}

function seconds(): string {
  return ((performance.now() - begun) / 1000).toFixed(1)
}
