import { format, resolveConfig } from 'prettier'
import { join } from 'node:path'
import { ROOT } from '../stage.ts'
import { Declarations } from './declarations.ts'
import { environmentPage } from './environment.ts'
import { errorsPage } from './errors.ts'
import { exitCodesPage } from './exit-codes.ts'
import { metricsPage } from './metrics.ts'
import { optionsPage } from './options.ts'

/** The pages of `docs/reference` that are checked in, by the name of their file. */
export async function referencePages(declarations: Declarations): Promise<ReadonlyMap<string, string>> {
  const pages = {
    'options.md': optionsPage(declarations),
    'environment.md': environmentPage(),
    'exit-codes.md': exitCodesPage(),
    'metrics.md': await metricsPage(),
    'errors.md': await errorsPage(declarations),
  }
  const style = await resolveConfig(join(ROOT, 'docs/reference/options.md'))
  const formatted = Object.entries(pages).map(
    async ([name, text]) => [name, await format(text, { ...style, parser: 'markdown' })] as const,
  )
  return new Map(await Promise.all(formatted))
}
