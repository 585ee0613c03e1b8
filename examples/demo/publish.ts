import { writeFile } from 'node:fs/promises'
import type { Demo } from './demo.ts'
import type { Summary } from './record/summary.ts'

/** Shows the summary and writes the figures where the options ask for them. */
export async function publish({ screen, options }: Demo, { lines, failures, figures }: Summary): Promise<void> {
  screen.line()
  screen.line('Summary', 'bold')
  for (const line of lines) screen.line(line)
  for (const failure of failures) screen.line(`  FAILED     ${failure}`, 'red')
  if (failures.length === 0) screen.line('  Everything happened, with no overlap and no leak.', 'green')
  if (options.jsonPath !== undefined) await writeFile(options.jsonPath, `${JSON.stringify({ figures }, null, 2)}\n`)
}
