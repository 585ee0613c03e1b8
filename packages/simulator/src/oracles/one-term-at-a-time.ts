import type { TermLife } from '../term-life.ts'
import type { Oracle } from './oracle.ts'

/**
 * O1. A term runs from the start of its first task to the end of its last one, or of its process. Excused is a process that was
 * suspended when its lease ran out: it cannot do anything about that, only a fence can.
 */
export const oneTermAtATime: Oracle = {
  id: 'O1',
  rule: 'No two terms of a lease run at one instant.',
  judge(_run, violated) {
    const running = new Set<TermLife>()
    const overlaps = (term: TermLife, what: string) => {
      for (const other of running) {
        if (other === term || !other.hasTasks || other.process.isExcused) continue
        violated(`${term.name} ${what} while ${other.name} runs ${other.tasks.join(', ')}`)
        return
      }
    }
    return (fact) => {
      switch (fact.kind) {
        case 'task-began':
          if (!running.has(fact.term)) overlaps(fact.term, `began ${fact.task}`)
          running.add(fact.term)
          break
        case 'acted':
          if (!fact.term.isOver && !fact.term.process.isExcused) overlapsLater(fact.term, fact.what)
          break
        case 'term-over':
          if (!fact.term.hasTasks) running.delete(fact.term)
          break
        case 'process-ended':
          for (const term of running) if (term.process === fact.process) running.delete(term)
          break
        default:
      }
    }

    function overlapsLater(term: TermLife, what: string): void {
      for (const other of running) {
        if (other.epoch <= term.epoch || !other.hasTasks) continue
        violated(`${term.name} acted (${what}) while ${other.name} runs ${other.tasks.join(', ')}`)
        return
      }
    }
  },
}
