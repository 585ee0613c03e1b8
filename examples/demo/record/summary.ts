import type { Leak } from '../observer/leak-watch.ts'
import { formatMs } from '../terminal/format-ms.ts'
import type { TermStory } from './chronicle.ts'
import { cleanHandovers, median, takeovers } from './handovers.ts'

/** What a {@link Summary} is made from. */
export interface Findings {
  readonly terms: readonly TermStory[]
  /** How many acts of the tour there are, and how many were played to their end. */
  readonly acts: { readonly planned: number; readonly played: number }
  readonly overlaps: readonly string[]
  readonly leaks: readonly Leak[]
  /** How many terms were found to have left nothing behind. */
  readonly leakFree: number
  /** What the observer saw: versions of the lease, reports of the janitor, ConfigMaps deleted. */
  readonly observed: { readonly leases: number; readonly reports: number; readonly deleted: number }
  /** What else went wrong. */
  readonly problems: readonly string[]
}

/** The outcome of the demo. */
export interface Summary {
  readonly figures: Readonly<Record<string, number>>
  readonly lines: readonly string[]
  /** Why the demo has failed; empty when it has not. */
  readonly failures: readonly string[]
}

/** Sums up. */
export function summarize(findings: Findings): Summary {
  const { terms, overlaps, leaks } = findings
  const handovers = cleanHandovers(terms).map(({ ms }) => ms)
  const handoverP50 = median(handovers)
  return {
    figures: {
      overlaps: overlaps.length,
      leaks: leaks.length,
      handovers: handovers.length,
      // A figure that was not measured is left out.
      ...(handoverP50 !== undefined && { handover_p50_ms: Number(handoverP50.toFixed(3)) }),
      terms: terms.length,
    },
    lines: linesOf(findings, handovers),
    failures: failuresOf(findings),
  }
}

function linesOf(findings: Findings, handovers: readonly number[]): readonly string[] {
  const { terms, acts, overlaps, leaks, leakFree, observed } = findings
  const expiries = takeovers(terms).map(({ ms }) => ms)
  const processes = new Set(terms.map(({ replica }) => replica.pid)).size
  return [
    row('acts', acts.played, `of ${acts.planned} went as they have to`),
    row('terms', terms.length, `led by ${processes} processes`),
    row('handovers', handovers.length, `clean, from decision to first act: ${p50AndMax(handovers)}`),
    row('takeovers', expiries.length, `after the lease expired, from the end of the process: ${p50AndMax(expiries)}`),
    row('overlaps', overlaps.length, `in ${observed.leases} versions of the lease and ${observed.reports} writes`),
    row('leaks', leaks.length, `after ${leakFree} terms whose replica followed again`),
    row('deleted', observed.deleted, 'expired ConfigMaps'),
  ]
}

function failuresOf({ acts, overlaps, leaks, leakFree, observed, problems }: Findings): readonly string[] {
  return [
    ...(acts.played < acts.planned ? [`only ${acts.played} of ${acts.planned} acts were played`] : []),
    ...overlaps.map((overlap) => `overlap: ${overlap}`),
    ...leaks.map((leak) => `leak: ${describeLeak(leak)}`),
    // The absence of findings counts only if there was something to examine.
    ...(observed.reports === 0 ? ['the observer has seen no write of the janitor'] : []),
    ...(leakFree === 0 ? ['no replica was measured as a follower after a term'] : []),
    ...problems,
  ]
}

function describeLeak({ replica, epoch, excess }: Leak): string {
  return `${replica.name} (PID ${replica.pid}) after the term with epoch ${epoch}: ${excess.join('; ')}`
}

function p50AndMax(values: readonly number[]): string {
  const p50 = median(values)
  return p50 === undefined ? 'not measured' : `p50 ${formatMs(p50)}, max ${formatMs(Math.max(...values))}`
}

function row(name: string, count: number, text: string): string {
  return `  ${name.padEnd(10)} ${String(count).padStart(4)}   ${text}`
}
