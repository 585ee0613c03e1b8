import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { bundleSimulator } from './bundle.ts'

/** Its colours and its bands are those of the page of the command. */
const COMMAND_PAGE = join(import.meta.dirname, '../../packages/cli/page')
const PAGE = join(import.meta.dirname, 'page')
const FILES = [
  join(PAGE, 'index.html'),
  join(PAGE, 'simulator.css'),
  join(COMMAND_PAGE, 'page.css'),
  join(COMMAND_PAGE, 'icon.svg'),
]

/** Writes the page of the simulator. It needs no server: a browser opens its `index.html` from a disk, too. */
export async function writeSimulator(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true })
  for (const file of FILES) await copyFile(file, join(folder, basename(file)))
  await writeFile(join(folder, 'simulator.js'), await bundleSimulator('page/main.ts', 'iife'))
}
