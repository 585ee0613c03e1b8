import { seededRandom } from '../../../packages/simulator/src/seed.ts'

/** What a reader does to a replica. */
const ACTIONS = ['pause', 'resume', 'cut', 'reconnect', 'kill', 'start', 'skew', 'set-clock', 'step-down'] as const

export type Action = (typeof ACTIONS)[number]

/** One action of a reader. */
export interface ScriptStep {
  /** In milliseconds of true time from the beginning. */
  readonly at: number
  readonly action: Action
  /** From 1. */
  readonly replica: number
}

export const REPLICAS = 3

/** What undoes an action. */
const UNDO: Readonly<Partial<Record<Action, Action>>> = {
  pause: 'resume',
  cut: 'reconnect',
  kill: 'start',
  skew: 'set-clock',
}

const FAULTS = ['pause', 'cut', 'kill', 'skew', 'step-down'] as const

/** The actions of a seed: every one or two seconds something happens to a replica, most often for longer than its lease lasts. */
export function scriptOf(seed: number, durationMs: number): readonly ScriptStep[] {
  const random = seededRandom(seed)
  const steps: ScriptStep[] = []
  for (let at = 2000; at < durationMs; at += Math.round(500 + random() * 3500)) {
    const action = FAULTS[Math.floor(random() * FAULTS.length)] ?? 'pause'
    const replica = 1 + Math.floor(random() * REPLICAS)
    steps.push({ at, action, replica })
    const undo = UNDO[action]
    if (undo !== undefined) steps.push({ at: at + Math.round(500 + random() * 8000), action: undo, replica })
  }
  return steps.toSorted((a, b) => a.at - b.at)
}

/** Writes a script as text for an address, as in `3000.pause.1,9500.resume.1`. */
export function formatScript(steps: readonly ScriptStep[]): string {
  return steps.map(({ at, action, replica }) => `${at}.${action}.${replica}`).join(',')
}

/** @throws RangeError that names the step that is no step */
export function parseScript(text: string): readonly ScriptStep[] {
  return text === '' ? [] : text.split(',').map(parseStep)
}

function parseStep(text: string): ScriptStep {
  const [, at, name, replica] = /^(\d{1,7})\.([a-z-]+)\.(\d)$/.exec(text) ?? []
  const action = ACTIONS.find((one) => one === name)
  if (action === undefined || Number(replica) < 1 || Number(replica) > REPLICAS)
    throw new RangeError(
      `Expected a step of \`script\` to be a time in milliseconds, an action (${ACTIONS.join(', ')}) and a replica from 1 to ` +
        `${REPLICAS}, as in \`3000.pause.1\`, got \`${text}\``,
    )
  return { at: Number(at), action, replica: Number(replica) }
}
