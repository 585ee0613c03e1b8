import { fileURLToPath } from 'node:url'
import { RelatedTests } from '../../mutation/related-tests.ts'
import { TypeCheck } from '../../mutation/type-check.ts'
import type { ChangedFile } from '../changed-file.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

/** The compiler: the first error in the changed file, or in a file that imports it. */
export class TypesTrial implements Disposable {
  readonly #types = new TypeCheck(ROOT)
  readonly #related = new RelatedTests(ROOT)

  errorOf({ file, code }: ChangedFile): string | undefined {
    return this.#types.errorOf(file, code, this.#related.importersOf(file))
  }

  [Symbol.dispose](): void {
    this.#types[Symbol.dispose]()
  }
}
