import { FAULT_KINDS } from '@tenure/simulator'
import { simulatedMs, type Tally } from './tally.ts'

const STATES = ['following', 'acquiring', 'leading', 'draining', 'releasing', 'wedged'] as const

const HOUR_MS = 3_600_000

/** Prints the runs, their speed, and which faults hit replicas in which states. */
export function printTally(tally: Tally, realMs: number, processes: number): void {
  console.log('fleet'.padEnd(28), 'seeds'.padStart(9), 'hours'.padStart(12), 'speed-up'.padStart(12))
  for (const [name, fleet] of Object.entries(tally.fleets)) {
    const speedup = fleet.simulatedMs / fleet.realMs
    console.log(
      name.padEnd(28),
      String(fleet.seeds).padStart(9),
      (fleet.simulatedMs / HOUR_MS).toFixed(1).padStart(12),
      `${Math.round(speedup)} ×`.padStart(12),
    )
  }
  const years = simulatedMs(tally) / HOUR_MS / 24 / 365.25
  console.log(
    `\n${tally.seeds} seeds, ${tally.terms} terms, ${tally.events} events in ${(realMs / 1000).toFixed(1)} s on ${processes} processes: ` +
      `${Math.round((tally.seeds / realMs) * 60_000)} seeds per minute, ${years.toFixed(2)} cluster-years, ` +
      `${Math.round(simulatedMs(tally) / realMs)} × as fast as real time`,
  )
  if (Object.keys(tally.coverage).length > 0) printCoverage(tally)
  console.log(`\n${tally.broken.length} violations${tally.broken.map((seed) => `\n  ${seed}`).join('')}`)
}

function printCoverage({ coverage }: Tally): void {
  console.log(`\n${'fault × state'.padEnd(18)}${STATES.map((state) => state.padStart(11)).join('')}`)
  let met = 0
  for (const kind of FAULT_KINDS) {
    const counts = STATES.map((state) => coverage[kind]?.[state] ?? 0)
    met += counts.filter((times) => times > 0).length
    console.log(kind.padEnd(18) + counts.map((times) => (times === 0 ? '·' : String(times)).padStart(11)).join(''))
  }
  console.log(`${met} of ${FAULT_KINDS.length * STATES.length} combinations covered`)
}
