import { OptionsError } from '@tenure/core'
import { FAULT_KINDS, type FaultKind } from './faults.ts'

/** A fault that happens to a replica. */
export interface ScriptedFault {
  /** True time in milliseconds. A fault of a request happens to the next request of the replica. */
  readonly at: number
  readonly kind: FaultKind
  /** The index of the replica. */
  readonly replica: number
  /** From 0 to 1: the share of the longest duration or the largest change. */
  readonly severity: number
}

/** A period with faults, and what happens in it. */
export interface Storm {
  readonly from: number
  readonly to: number
  readonly faults: readonly ScriptedFault[]
}

/** Every period with faults of a run, in order. */
export type FaultScript = readonly Storm[]

/** A script as part of a seed. */
export function formatScript(script: FaultScript): string {
  const stormText = ({ from, to, faults }: Storm) => [`${from}:${to}`, ...faults.map(faultText)].join(',')
  return `+${script.map(stormText).join('+')}`
}

function faultText({ at, kind, replica, severity }: ScriptedFault): string {
  return `${at}:${kind}:${replica}:${severity}`
}

/** Reads what {@link formatScript} wrote. @throws OptionsError that names the part that is no fault */
export function parseScript(text: string): FaultScript {
  let earliest = 0
  return text
    .split('+')
    .filter((part) => part !== '')
    .map((part) => {
      const storm = parseStorm(part, earliest)
      earliest = storm.to
      return storm
    })
}

function parseStorm(text: string, earliest: number): Storm {
  const [period = '', ...faults] = text.split(',')
  const [from, to, ...rest] = period.split(':').map(Number)
  if (from === undefined || to === undefined || rest.length > 0 || !(from >= earliest && to >= from))
    throw wrong(period)
  return { from, to, faults: faults.map((fault) => parseFault(fault, { from, to })) }
}

function parseFault(text: string, { from, to }: Omit<Storm, 'faults'>): ScriptedFault {
  const [at, name, replica, severity, ...rest] = text.split(':')
  const kind = FAULT_KINDS.find((known) => known === name)
  const fault = { at: Number(at), replica: Number(replica), severity: Number(severity) }
  const isTimely = fault.at >= from && fault.at <= to
  const isFault = isTimely && Number.isInteger(fault.replica) && fault.severity >= 0 && fault.severity <= 1
  if (kind === undefined || !isFault || rest.length > 0) throw wrong(text)
  return { ...fault, kind }
}

function wrong(part: string): OptionsError {
  return OptionsError.expected(
    'each period after the `+` of `seed` to look like `0:60000,12000:crash:1:0.5`, with its faults in it, after those before',
    part,
  )
}

/** The number of faults. */
export function countFaults(script: FaultScript): number {
  return script.reduce((sum, { faults }) => sum + faults.length, 0)
}
