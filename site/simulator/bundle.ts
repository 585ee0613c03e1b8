import { builtinModules } from 'node:module'
import { join } from 'node:path'
import { rolldown, type OutputChunk } from 'rolldown'
import { applyMutant } from '../../test/mutants/apply-mutant.ts'
import { findMutant } from '../../test/mutants/find-mutant.ts'
import { DEFECTS, type Defect } from './engine/defects.ts'

const ROOT = join(import.meta.dirname, '../..')
const PLANTED = join(import.meta.dirname, 'engine/planted.ts')

/**
 * Bundles the simulator for a browser, from the sources of production, with the planted defects that its page offers.
 * @throws Error when something of Node is imported
 */
export async function bundleSimulator(entry: string, format: 'iife' | 'es'): Promise<string> {
  const build = await rolldown({
    input: join(import.meta.dirname, entry),
    platform: 'browser',
    external: (id) => isOfNode(id),
    plugins: [{ name: 'planted-defects', transform: (code, id) => withDefects(code, id.split('?')[0] ?? '') }],
    resolve: { conditionNames: ['@tenure/source', 'import', 'default'] },
    transform: { target: 'es2023' },
  })
  const { output } = await build.generate({ format, minify: true })
  await build.close()
  const [chunk, ...others] = output.filter((part) => part.type === 'chunk')
  if (chunk === undefined || others.length > 0) throw new Error(`Expected the simulator to be one file`)
  assertNoNode(chunk)
  return chunk.code
}

function isOfNode(id: string): boolean {
  return id.startsWith('node:') || builtinModules.includes(id)
}

function assertNoNode({ imports, dynamicImports, code }: OutputChunk): void {
  const required = [...code.matchAll(/\b(?:require|import)\(["'`]([^"'`]+)["'`]\)/g)].map(([, id = '']) => id)
  const found = [...imports, ...dynamicImports, ...required]
  if (found.length > 0)
    throw new Error(
      `Expected the simulator to import nothing, because it runs in a browser, but it imports ${found.join(', ')}. ` +
        'Put what it needs of Node behind packages/core/src/ports/node-modules.ts.',
    )
}

function withDefects(code: string, file: string): string | undefined {
  const planted = DEFECTS.filter(
    ({ id, form }) => form !== undefined && join(ROOT, findMutant(id)?.file ?? '') === file,
  )
  if (planted.length === 0) return undefined
  const changed = planted.reduce(withDefect, code)
  return `import { isPlanted } from ${JSON.stringify(PLANTED)}\n${changed}`
}

/** Both the code of production and the code with the defect, and a question that decides. */
function withDefect(code: string, { id, form }: Defect): string {
  const mutant = findMutant(id)
  if (mutant === undefined) throw new Error(`There is no mutant ${id}`)
  const { find, replace } = mutant
  const both =
    form === 'statement'
      ? `{ if (isPlanted('${id}')) { ${replace} }\n${find} }`
      : `(isPlanted('${id}') ? ${replace} : ${find})`
  return applyMutant({ ...mutant, replace: both }, code)
}
