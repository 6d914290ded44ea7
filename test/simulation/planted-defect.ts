/** A mend taken back: textual edits that bring one defect back. */
export interface PlantedDefect {
  readonly id: string;
  readonly title: string;
  /** The file of tests that meets it where runs of the simulator do not, and why they do not. */
  readonly metBy?: { readonly test: string; readonly because: string };
  /** Met by histories that are played in several ways, `--variants`, and not by single runs. */
  readonly isMetByVariants?: true;
  readonly edits: readonly { readonly file: string; readonly find: string; readonly replace: string }[];
}
