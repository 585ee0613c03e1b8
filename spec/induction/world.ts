import { type ModelRecord, type ModelState, type ModelWrite, NAMES } from '../edges/model-state.ts'
import type { Value, World } from './evaluate.ts'

/** The times of the model that the formulas name. */
export interface Times {
  readonly wait: number
  readonly validity: number
}

const NOBODY: ModelRecord = {
  here: false,
  holder: [],
  term: 0,
  stamp: 0,
  src: [],
  trans: 0,
  dur: 0,
  offer: false,
  answer: [],
  echo: 0,
  num: 0,
  epoch: 0,
  least: 0,
  ref: 0,
}
const NO_WRITE: ModelWrite = { base: 0, rec: NOBODY, left: 0, inc: 0, done: false }

/** A state that the model checker reached, as what the functions of the formulas mean. */
export function worldOf(state: ModelState, { wait, validity }: Times): World {
  const functions: Record<string, (...args: readonly Value[]) => Value> = {}
  for (const [field, of] of Object.entries(RECORD)) {
    functions[`hist.${field}`] = (version) => of(state.hist[Number(version) - 1] ?? NOBODY)
  }
  for (const field of PROCESS) functions[`proc.${field}`] = (name) => processOf(state, name)[field]
  for (const [field, of] of Object.entries(WRITE)) {
    functions[`msg.${field}`] = (name, slot) => of(writeOf(state, name, slot))
  }
  // All clocks run at the same rate.
  const clocks = { slowly: () => 1, fast: () => 1 }
  return { ...functions, ...clocks, Version: state.hist.length, Wait: wait, Validity: validity }
}

export const slotOf = (index: number): string => `slot-${index}`

const PROCESS = ['mode', 'view', 'wait', 'valid', 'tasks', 'hold', 'inc'] as const

function processOf(state: ModelState, name: Value): ModelState['proc']['r1'] {
  return state.proc[NAMES.find((known) => known === name) ?? 'r1']
}

function writeOf(state: ModelState, name: Value, slot: Value): ModelWrite {
  const writes = state.msg[NAMES.find((known) => known === name) ?? 'r1']
  const write = writes.find((_, index) => slotOf(index + 1) === slot)
  return write !== undefined && 'rec' in write ? write : NO_WRITE
}

const SOURCE: Readonly<Record<string, (rec: ModelRecord) => Value>> = {
  held: (rec) => rec.holder.length > 0,
  term: (rec) => rec.term,
  stamp: (rec) => rec.stamp,
  src: (rec) => rec.src[0] ?? 'nobody',
  srcInc: (rec) => rec.src[1] ?? -1,
  srcSlot: (rec) => slotOf(rec.src[2] ?? 0),
}

const RECORD: Readonly<Record<string, (rec: ModelRecord) => Value>> = {
  ...SOURCE,
  here: (rec) => rec.here,
  holder: (rec) => rec.holder[0] ?? 'nobody',
  holderInc: (rec) => rec.holder[1] ?? -1,
}

const WRITE: Readonly<Record<string, (write: ModelWrite) => Value>> = {
  ...Object.fromEntries(Object.entries(SOURCE).map(([field, of]) => [field, (write: ModelWrite) => of(write.rec)])),
  sent: (write) => write !== NO_WRITE,
  base: (write) => write.base,
  left: (write) => write.left,
  inc: (write) => write.inc,
  done: (write) => write.done,
}
