import type { ChildProcess } from 'node:child_process'
import type { ControllerTerm } from '../../../src/term/controller-term.ts'
import type { StartedFamily } from '../../../src/term/owned/owned-processes.ts'
import type { ProcessFamily } from '../../../src/term/owned/process-family.ts'

/** What tests vary about the processes of a term. */
export interface FakeFamilyOptions {
  /** Whether the started thing is one of the children that were started. @default true */
  readonly reportsChild?: boolean
}

/**
 * Lets a term start things without real processes. What is done to the family of a started thing goes to `log`; `running` are the other
 * processes of it.
 */
export function fakeFamily(term: ControllerTerm, log: unknown[], { reportsChild = true }: FakeFamilyOptions = {}) {
  const state = { running: [] as number[] }
  const family: Pick<ProcessFamily, 'search' | 'signal' | 'running'> = {
    search: () => (log.push('search'), state.running),
    signal: (signal) => (log.push(`${signal} to the family`), state.running),
    running: () => state.running,
  }
  const start = <T>(starts: () => T): StartedFamily<T> => {
    const started = starts()
    const children = reportsChild ? [started as unknown as ChildProcess] : []
    return { started, children, family: family as ProcessFamily, forget: () => void log.push('forget') }
  }
  Object.assign(term, { processes: { start } })
  return state
}
