import type { Leak } from './leak.ts'

const STACK_LINES = 4

/** The message of a failed check: every leak with where it comes from and what to do about it. */
export function reportOf(leaks: readonly Leak[], waitedMs: number, processReport: string): string {
  const total = leaks.reduce((sum, { count }) => sum + count, 0)
  const head = `${total} ${total === 1 ? 'leak' : 'leaks'}, still there after ${Math.round(waitedMs)} ms:`
  const parts = [head, ...leaks.map((leak, index) => describe(leak, index + 1))]
  if (processReport !== '')
    parts.push(`What keeps the process alive, by why-is-node-running:\n${indent(processReport)}`)
  return parts.join('\n\n')
}

function describe(leak: Leak, number: number): string {
  const lines = [
    `${number}. ${headOf(leak)}`,
    `   ${siteLine(leak)}`,
    ...leak.stack.slice(0, STACK_LINES).flatMap((line) => (line.includes(leak.site) ? [] : [`           ${line}`])),
    ...ownerOf(leak),
    ...(leak.heldBy === '' ? [] : [`   held by ${leak.heldBy}`]),
    `   fix: ${leak.fix}`,
  ]
  return lines.join('\n')
}

function siteLine({ site, siteKind, test }: Leak): string {
  if (siteKind === 'creation') return `created at ${site}`
  if (siteKind === 'value') return `its value was written at ${site}; Node does not show who assigned it`
  const since = test === undefined ? `after the watch began at ${site}` : `in the test \`${test}\` of ${site}`
  return `created ${since}; Node does not show the place`
}

function headOf({ kind, title, detail, count, isRef, rearmed }: Leak): string {
  const facts = [
    detail,
    isRef === false ? "unref'd" : '',
    rearmed > 0 ? `created again ${rearmed} times during the grace` : '',
  ].filter((fact) => fact !== '')
  const times = count > 1 ? ` × ${count}` : ''
  return `${title}${facts.length === 0 ? '' : ` (${facts.join(', ')})`}${times} [${kind}]`
}

function ownerOf({ controller, task, lease, epochs }: Leak): readonly string[] {
  if (controller === undefined) return []
  const term =
    epochs.length === 0 ? '' : `, term${epochs.length > 1 ? 's' : ''} ${epochs.join(', ')} of lease \`${lease ?? ''}\``
  return [`   by controller \`${controller}\`${task === undefined ? '' : `, task \`${task}\``}${term}`]
}

function indent(text: string): string {
  return text.trimEnd().replaceAll(/^(?=.)/gm, '   ')
}
