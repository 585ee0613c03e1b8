import type { TermLife } from '../term-life.ts'
import type { Oracle } from './oracle.ts'
import { deleteTermsOf } from './terms-of-process.ts'

/** O3. Checked when the process sends the write. A write that is based on an earlier lease than that of the term cannot succeed. */
export const releaseWhenEmpty: Oracle = {
  id: 'O3',
  rule: 'A lease is released or transferred only when no task of the term is left.',
  judge(_run, violated) {
    const terms = new Set<TermLife>()
    return {
      'term-began': ({ term }) => terms.add(term),
      'lease-given-up': ({ process, lease, epoch }) => {
        for (const term of terms) {
          if (term.process !== process || term.lease !== lease || term.epoch > epoch || !term.hasTasks) continue
          violated(
            `${process.identity} released or transferred the lease while ${term.name} runs ${term.tasks.join(', ')}`,
          )
        }
      },
      'process-ended': ({ process }) => deleteTermsOf(process, terms),
      'term-over': ({ term }) => {
        if (!term.hasTasks) terms.delete(term)
      },
    }
  },
}
