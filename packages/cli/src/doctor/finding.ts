/** How bad a finding is. `error`: leaders fail or will. `warning`: they may. `note`: worth knowing. */
type Severity = 'error' | 'warning' | 'note'

/** Something that `tenure doctor` has found. */
export interface Finding {
  readonly severity: Severity
  /** What it is about, such as `lease ops/janitor`. */
  readonly about: string
  readonly problem: string
  /** What to do. */
  readonly remedy: string
}

const ORDER: readonly Severity[] = ['error', 'warning', 'note']

/** The exit code of `tenure doctor`: 4 if there is an error, 3 if there is a warning, otherwise 0. */
export function exitCodeOf(findings: readonly Finding[]): number {
  const worst = ORDER.find((severity) => findings.some((finding) => finding.severity === severity))
  return worst === 'error' ? 4 : worst === 'warning' ? 3 : 0
}

/** The findings, the worst first. */
export function inOrder(findings: readonly Finding[]): readonly Finding[] {
  return findings.toSorted((a, b) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity))
}
