import type { TermLife } from '../term-life.ts'
import type { Oracle } from './oracle.ts'
import { deleteTermsOf } from './terms-of-process.ts'

/**
 * O1. A term runs from the start of its first task to the end of its last task or of its process. A process that was suspended when its
 * lease expired is excused: only a fence can stop it.
 */
export const oneTermAtATime: Oracle = {
  id: 'O1',
  rule: 'No two terms of a lease run at the same time.',
  judge(_run, violated) {
    const running = new Set<TermLife>()
    const expectNone = (term: TermLife, what: string, isOverlap: (other: TermLife) => boolean) => {
      for (const other of running) {
        if (!other.hasTasks || !isOverlap(other)) continue
        violated(`${term.name} ${what} while ${other.name} runs ${other.tasks.join(', ')}`)
        return
      }
    }
    return {
      'task-began': ({ term, task }) => {
        const isOverlap = (other: TermLife) => other !== term && !other.process.isExcused
        if (!running.has(term)) expectNone(term, `began ${task}`, isOverlap)
        running.add(term)
      },
      acted: ({ term, what }) => {
        const isLater = (other: TermLife) => other.epoch > term.epoch
        if (!term.isOver && !term.process.isExcused) expectNone(term, `acted (${what})`, isLater)
      },
      'term-over': ({ term }) => {
        if (!term.hasTasks) running.delete(term)
      },
      'process-ended': ({ process }) => deleteTermsOf(process, running),
    }
  },
}
