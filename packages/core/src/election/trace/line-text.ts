import type { ElectorEffect } from '../machine/effect.ts'
import type { ElectorEvent } from '../machine/event.ts'
import type { LockSnapshot } from '../../lock/lock.ts'
import { numberField, quoted, textField, timeText, versionText } from './json-text.ts'
import type { TraceStep } from './trace-channel.ts'
import type { TraceOther } from './trace-line.ts'
import { recordText } from './trace-record.ts'

/** What a line says beside its step. */
export interface LinePlace {
  /** The elector. */
  readonly p: number
  /** The number of the step. */
  readonly n: number
  /** The clock of the machine. */
  readonly machineMs: number
  /** How long before that the elector decided at most. */
  readonly apartMs: number
  /** Whether the line has the time of the wall clock. */
  readonly hasWall: boolean
}

/** The {@link TraceLine} of a step, as JSON. `acts` are those of the step. */
export function lineText({ at, event, state, config }: TraceStep, place: LinePlace, acts: string): string {
  const { p, n, machineMs, apartMs, hasWall } = place
  const apart = apartMs > 0 ? `,"j":${timeText(apartMs + ROUNDING_MS)}` : ''
  const times = `"m":${timeText(machineMs)}${apart},"t":${timeText(at.now)}${hasWall ? numberField('w', Math.round(at.wallTime)) : ''}`
  const what = `"e":"${event.kind}","s":"${state.kind}"${eventText(event)}${textField('c', config.coordination)}`
  return `{"p":${p},"n":${n},${times},${what}${acts === '' ? '' : `,"d":[${acts}]`}}`
}

/** Rounded times may be further apart by this. */
const ROUNDING_MS = 0.002

function eventText(event: ElectorEvent): string {
  switch (event.kind) {
    case 'observed':
      return seenText(event.snapshot)
    case 'write-answer': {
      const { request, result } = event
      return `,"q":${request}${result.kind === 'failed' ? textField('f', result.failure) : seenText(result.lease)}`
    }
    case 'read-answer': {
      const { request, result } = event
      return `,"q":${request}${result.kind === 'failed' ? textField('f', result.failure) : seenText(result.snapshot)}`
    }
    case 'holder-dead':
      return `,"h":${quoted(event.holder.identity)}${textField('a', event.holder.acquireTime)}`
    default:
      return ''
  }
}

function seenText(snapshot: LockSnapshot): string {
  const { version } = snapshot
  const seen = version === undefined ? '' : `,"v":${versionText(version)}`
  if (snapshot.kind === 'absent') return seen
  const { epoch, record, deleting, replaced } = snapshot
  const counted = epoch === undefined || epoch === version ? '' : `,"k":${versionText(epoch)}`
  const before = replaced === undefined ? '' : `,"g":${recordText(replaced)}`
  return `${seen}${counted},"r":${recordText(record)}${deleting ? ',"x":true' : ''}${before}`
}

/** The {@link TraceAct}s of a step, as JSON without brackets. Empty if it does nothing that the checker reads. */
export function actsText(effects: readonly ElectorEffect[]): string {
  let text = ''
  for (const effect of effects) {
    const act = actText(effect)
    if (act !== '') text += text === '' ? act : `,${act}`
  }
  return text
}

function actText(effect: ElectorEffect): string {
  switch (effect.kind) {
    case 'write':
      return writeText(effect)
    case 'read':
      return `{"u":"read"${numberField('q', effect.request)}}`
    case 'begin-term':
      return `{"u":"begin","k":${versionText(effect.epoch)},"until":${timeText(effect.validUntil)}}`
    case 'extend-validity':
    case 'shorten-validity':
      return `{"u":"until","until":${timeText(effect.validUntil)}}`
    case 'end-term':
      return `{"u":"end","why":"${effect.reason}","voluntary":${effect.voluntary}}`
    case 'term-over':
      return `{"u":"over","outcome":"${effect.outcome}"}`
    default:
      return OTHERS.has(effect.kind) ? `{"u":"${effect.kind}"}` : ''
  }
}

function writeText({ request, write }: Extract<ElectorEffect, { kind: 'write' }>): string {
  const { purpose, base, record } = write
  const replaced = base === undefined ? '' : `,"b":${versionText(base.version)}`
  const isCheck = base?.record === record
  return `{"u":"${purpose}","q":${request}${replaced},"r":${recordText(record)}${isCheck ? ',"i":true' : ''}}`
}

/** The effects of which only the kind is written. */
const OTHERS: ReadonlySet<string> = new Set<TraceOther['u']>([
  'close-gate',
  'hard-abort',
  'wedged',
  'exit',
  'stopped',
  'identity-taken',
])
