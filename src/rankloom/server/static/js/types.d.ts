// What the server answers and what the page holds. For the checks only: the page never loads this file.

/** Left, top, right and bottom of a part, as shares of width and height. */
export type Region = [number, number, number, number];

export interface Example { item?: number; picture?: string; weight: number; region?: Region | null }

export interface Filters {
  folder?: string; kind?: string; after?: string; before?: string; has_text?: boolean;
  /** At least as many. */
  stars?: number;
  tag?: string;
  album?: number;
  /** A rectangle of the map: west,south,east,north in degrees. */
  within?: string;
  /** Only what is marked in this search, or only what is not. */
  marked?: boolean;
  hidden?: boolean;
}

export interface Query {
  text: string;
  text_weight: number;
  examples: Example[];
  concept: string | null;
  filters: Filters;
}

/** How results are arranged and reranked; `against` is a model to compare with, 0 the weights that follow marks. */
export interface Options { diversity: number; collapse: boolean; method: string; against: number | null }

/** A query as the server takes and saves it, with the options that every score depends on. */
export interface Asked { query: Query; diffusion: boolean; collapse?: boolean; method?: string }

/** Which of two models people prefer; null is the weights that follow marks. */
export interface Preference {
  first: number | null; second: number | null; wins: number; losses: number; ties: number; verdict: string;
}

export interface Hit {
  rank: number;
  id: number;
  name: string;
  folder: string;
  score: number;
  mark: number | null;
  kind: "picture" | "shot";
  start: number;
  end: number;
  taken: string | null;
  changed?: string | null;
  caption: string | null;
  width: number;
  height: number;
  literal: boolean | null;
  stars: number;
  hidden: boolean;
  /** What was read or heard in it and has words of the query. */
  matched?: Matched | null;
}

/** Part of a listing: a month as "2024-05", or "" where the order is not by date. */
export interface Group { month: string; size: number }

/** How results are ordered: "" as is usual, by score or the newest first. */
export type Sort = "" | "newest" | "oldest" | "name" | "uncertain";

export interface Matched { source: string; text: string }

export interface Answer {
  total: number;
  cutoff: number | null;
  likely: number | null;
  diffused: boolean;
  learning: boolean;
  /** How many have some of the words; all of them in their texts; and more with automatic tags. */
  literal: number | null;
  in_texts: number | null;
  in_tags: number | null;
  /** Those that these results can have. */
  orders: string[];
  /** The words as the collection spells them, where some are nowhere. */
  did_you_mean: string | null;
  marks: number;
  seconds: number;
  hits: Hit[];
}

/** An active mark; `over` is the item that this one is preferred to. */
export interface Mark {
  id: number; item: number; grade: number; over: number | null; name: string; caption: string | null;
  /** Whether the other marks of the search say otherwise. */
  contradicted: boolean;
}

/** A part of a score. */
export interface Part { name: string; kind: string; value: number; item?: number | null }

export interface Explanation {
  item: number; score: number; why: Part[]; matched?: Matched | null; standing?: Standing;
}

/** Where an item stands in what a group of experts says: `below` is the share of the others that have less. */
export interface GroupStanding {
  name: string; weight: number | null; value: number; below: number; low: number; high: number;
  counts: number[]; bar: number;
}

export interface Standing { compared: number; total: number; groups: GroupStanding[] }

export interface Comparison { difference: number; why: Part[] }

export interface Weights {
  weights: Record<string, number>;
  start: Record<string, number>;
  locked: string[];
  marks: number;
  moved: number;
}

export interface Concept { name: string; n_positive: number; quality: Record<string, number> | null }

export interface Model {
  id: number;
  ranker: string;
  at: string;
  n_marks: number;
  metric: string;
  value: number | null;
  low: number | null;
  high: number | null;
  gain: number | null;
  gain_low: number | null;
  gain_high: number | null;
  status: string;
}

export interface CurvePoint { query: Partial<Query> | null; marks: number; start: number | null; learned: number | null }

export interface Job {
  name: string;
  /** What it is about, such as a folder. */
  what: string;
  done: number;
  total: number;
  text: string;
  paused: boolean;
  /** What is done a second, and the seconds that the rest takes; null while nobody can tell. */
  rate: number | null;
  left: number | null;
  ended?: string | null;
  result?: string | null;
  report?: Record<string, number> | null;
  error?: string | null;
  cancelled: boolean;
  /** Files that could not be read since it began. */
  failed?: number;
}

/** The long job that runs, those that wait, how the last of each name ended; `items` is how many there are. */
export interface WorkState {
  job: Job | null;
  waiting: Job[];
  jobs: Job[];
  items: number;
  /** How often albums, stars and what is hidden were changed. */
  organized: number;
  /** Whether indexing was cancelled, or ended with the server. */
  unfinished: boolean;
  watching: boolean;
}

/** A folder of the server's machine; the name is for people, `folder` for the server. */
export interface FolderChoice { name: string; folder: string; indexed: boolean }

/** The folders in a folder, and how many pictures and videos it holds itself. */
export interface FolderChoices {
  folder: string; folders: FolderChoice[]; files: number; more: boolean; indexed: boolean;
}

/** A copy of the database. */
export interface Backup { name: string; at: string; kind: string; bytes: number }

/** How many items, marks, albums and so on a backup has and there are `now`, if that can be read. */
export interface BackupContents extends Backup { has: Record<string, number>; now: Record<string, number> | null }

/** What the last check found, if there was one since the server started; and the backups. */
export interface UpkeepState {
  checked: { at: string; blocks: number; bytes: number; problems: string[]; total: number } | null;
  backups: Backup[];
}

export interface CollectionState {
  items: number;
  pictures: number;
  videos: number;
  shots: number;
  texts: number;
  marks: number;
  duplicates: number;
  bytes: number;
  folders: string[];
  descriptors: { name: string; dimension: number; share: number }[];
  neighbours: boolean;
  job: Job | null;
  jobs: Job[];
}

export interface FileError { name: string; folder: string; reason: string }

export interface Item {
  id: number;
  place: { latitude: number; longitude: number } | null;
  faces: number;
  /** The whole `path` is told to a browser on the server's own machine. */
  files: { folder: string; name: string; there: boolean; path?: string }[];
  /** Whether the file manager of this machine can be opened at it. */
  reveal: boolean;
  /** Automatic ones, the likeliest first, from the most specific on. */
  tags: string[];
  texts: { source: string; text: string }[];
  shots: { id: number; start: number; end: number }[];
  boxes: Box[];
  speech: Cue[];
  notes: Notes;
  albums: { id: number; name: string }[];
}

/** What the owner says of an item. */
export interface Notes { caption: string; tags: string[]; stars: number; hidden: boolean }

export interface Album {
  id: number;
  name: string;
  /** Of a living album: what suggests members. */
  query: Partial<Query> | null;
  cover: number | null;
  by_hand: boolean;
  size: number;
}

export interface Folder { folder: string; files: number }

export interface Tag { tag: string; size: number }

/** Where a line of text ("ocr") or a "face" is, in shares of width and height; `time` is that of a frame. */
export interface Box {
  kind: string;
  left: number;
  top: number;
  width: number;
  height: number;
  text: string | null;
  time: number | null;
}

/** A line of speech with its times in seconds. */
export interface Cue { start: number; end: number; text: string }

export interface SavedSearch { name: string; query: Partial<Query> }

export interface Suggestions { words: { item: number; text: string }[]; items: number[] }

/** What the box offers while somebody types; `id` is of an album, `query` of a saved search. */
export interface Offer { kind: string; text: string; items?: number; id?: number; query?: Partial<Query> }

export interface Session {
  authorized: boolean;
  read_only: boolean;
  version: string;
  collection: string;
  /** The drawn sample collection, which is shown around. */
  demo: boolean;
  /** With profiles: how this browser's is called, in short. */
  profile: string | null;
  /** Those of this browser. */
  profiles: string[];
}

/** Everything that the views of the search draw. */
export interface State {
  readOnly: boolean;
  folders: string[];
  query: Query;
  /** Each result by itself, without diffusion. */
  plain: boolean;
  options: Options;
  sort: Sort;
  /** How many searches were begun. */
  asked: number;
  searching: boolean;
  answer: Answer | null;
  error: Error | null;
  /** The query of the results that are shown; marks are given to it. */
  answered: Query;
  /** A new object for every new order of results. */
  order: { animate: boolean; keep: boolean; byDate: boolean };
  /** Results in their order; those of a listing that were not looked at yet are not there. */
  hits: (Hit | undefined)[];
  /** The parts of a listing; none where results are ranked. */
  groups: Group[] | null;
  /** The numbers of selected items. */
  selected: ReadonlySet<number>;
  /** Items whose files were found to be gone. */
  gone: ReadonlySet<number>;
  /** How many results can be shown in all. */
  total: number;
  /** Item -> grade, as the server has the marks of this search. */
  grades: Map<number, number>;
  /** Item -> grade that is on its way to the server; null where a mark is taken back. */
  pending: ReadonlyMap<number, number | null>;
  marks: Mark[];
  /** Marks and changed weights since the order that is shown. */
  changes: number;
  /** Grows when scores on the server have changed. */
  revision: number;
}

export interface Store<S> {
  readonly state: S;
  update(patch: Partial<S>): void;
  /** Call `listener` after every update; returns what ends it. */
  subscribe(listener: (state: S, before: S) => void): () => void;
  /** Call `listener` after an update that changed one of these. */
  watch(names: (keyof S)[], listener: (state: S, before: S) => void): () => void;
}

/** A group of faces; `count` is of all of them, `faces` are the first. */
/** What became of a table of captions: rows, those with a file, and the first paths without one. */
export interface StoredCaptions {
  rows: number; matched: number; files: number; unmatched: string[]; cut: number;
}

export interface Person { id: number; name: string | null; count: number; faces: { box: number; item: number }[] }

export interface People { on: boolean; missing: string | null; people: Person[] }

/** A change of something on the server, which `save` sends. */
export type Change<T> = () => Promise<T>;

/** How the page speaks to people. */
export interface Speech { announce(text: string): void; toast(text: string, kind?: string): void }

/** A row of the grid: hits[first..end), `picture` pixels high without captions; or a line of text. */
export interface Row {
  top: number; height: number; first: number; end: number; picture: number;
  /** What stands in place of results. */
  title?: string;
  /** The months that begin here, each in a column. */
  months?: { month: string; column: number }[];
  /** All pictures are as wide as high. */
  square?: boolean;
}

/** What is listed, as the server takes it in an address. */
export type Listed = Omit<Filters, "marked"> & { sort: string };

/** A file that others are copies of, or a copy; `key` stands for it, `item` shows it. */
export interface CopiedFile {
  key: string; item: number; name: string; folder: string; width: number; height: number; bytes: number;
  modified: string;
}

/** Files that show the same, the best first; `why` says what it has more of. */
export interface CopyGroup { kind: string; why: string; files: CopiedFile[] }

/** Groups of duplicates; `files` and `bytes` are of all but the best; `bin` says that they may be moved. */
export interface Copies { total: number; files: number; bytes: number; bin: boolean; groups: CopyGroup[] }

/** Items that are near each other on the map; `item` is the newest, `within` the rectangle that holds them. */
export interface Cluster { size: number; item: number; latitude: number; longitude: number; within: string }

/** The groups of a part of the map; of `items` that pass the filters `total` have a position, inside `extent`. */
export interface Places { items: number; total: number; extent: string | null; clusters: Cluster[] }

/** The calls of the server's API; each throws an ApiError. */
export interface Api {
  session(): Promise<Session>;
  signIn(token: string): Promise<Session>;
  switchProfile(profile: string | null): Change<Session>;
  collection(): Promise<CollectionState>;
  suggestions(): Promise<Suggestions>;
  offers(typed: string): Promise<Offer[]>;
  errors(): Promise<FileError[]>;
  index(): Change<Job>;
  places(asked: Listed & { view: string; columns: number; rows: number }): Promise<Places>;
  duplicates(offset: number, k: number): Promise<Copies>;
  trashCopies(groups: { keep: string; trash: string[] }[]):
    Change<{ moved: string[]; left: { file: string; reason: string }[]; handed: number }>;
  work(): Promise<WorkState>;
  pauseWork(): Change<WorkState>;
  resumeWork(): Change<WorkState>;
  cancelWork(waiting?: number): Change<WorkState>;
  upkeep(): Promise<UpkeepState>;
  backUp(): Change<UpkeepState>;
  backup(name: string): Promise<BackupContents>;
  check(): Change<Job>;
  repair(): Change<Job>;
  restore(backup: string, merge: boolean): Change<Job>;
  roots(folder: string): Promise<FolderChoices>;
  addFolder(folder: string): Change<Job>;
  search(asked: Asked & { k: number; offset?: number; order?: string; diversity?: number }): Promise<Answer>;
  interleave(query: Query, against: number | null, k: number): Promise<Answer>;
  browse(listed: Listed, offset: number, k: number): Promise<{ total: number; hits: Hit[] }>;
  months(listed: Listed): Promise<{ total: number; groups: Group[] }>;
  browsedItems(listed: Listed, offset: number, k: number): Promise<number[]>;
  folders(): Promise<Folder[]>;
  tags(): Promise<Tag[]>;
  paths(items: number[]): Promise<string[]>;
  rate(items: number[], stars: number): Change<unknown>;
  hide(items: number[], hidden: boolean): Change<unknown>;
  tag(items: number[], change: { add?: string[]; remove?: string[] }): Change<Tag[]>;
  caption(item: number, caption: string): Change<unknown>;
  albums(): Promise<Album[]>;
  makeAlbum(album: { name: string; items?: number[]; query?: Query }): Change<Album>;
  changeAlbum(id: number, change: { name?: string; by_hand?: boolean; cover?: number }): Change<Album>;
  deleteAlbum(id: number): Change<Album[]>;
  albumItems(id: number, change: { add?: number[]; remove?: number[]; refuse?: number[] }): Change<Album>;
  albumOrder(id: number, items: number[], before: number | null): Change<Album>;
  albumSuggestions(id: number): Promise<Hit[]>;
  download(items: number[] | null, what: "files" | "xmp"): Promise<{ key: string; files: number }>;
  explain(asked: Asked & { item: number; standing?: boolean }): Promise<Explanation>;
  compare(asked: Asked & { a: number; b: number }): Promise<Comparison>;
  marks(query: Query): Promise<Mark[]>;
  mark(judged: { query: Query; marks: { item: number; grade: number }[]; shown?: number[] }):
    Change<{ ids: number[] }>;
  undo(mark: number): Change<unknown>;
  export(body: { what: string; format: string } & Partial<Asked> & { k?: number; items?: number[] }):
    Promise<Blob>;
  upload(picture: Blob): Promise<{ picture: string }>;
  item(id: number): Promise<Item>;
  reveal(id: number): Promise<unknown>;
  experts(): Promise<Weights>;
  setExperts(body: ExpertsChange): Change<Weights>;
  curve(): Promise<CurvePoint[]>;
  models(): Promise<Model[]>;
  preferences(): Promise<Preference[]>;
  train(ranker: string): Change<Job>;
  useModel(id: number | null): Change<unknown>;
  concepts(): Promise<Concept[]>;
  makeConcept(name: string, from: { query?: Query; positive?: number[] }): Change<Concept>;
  forgetConcept(name: string): Change<unknown>;
  addCaptions(table: Blob): Change<StoredCaptions>;
  people(): Promise<People>;
  groupFaces(on: boolean, forget?: boolean): Change<unknown>;
  namePerson(id: number, name: string): Change<unknown>;
  mergePeople(id: number, others: number[]): Change<unknown>;
  splitPerson(id: number, faces: number[]): Change<unknown>;
  saved(): Promise<SavedSearch[]>;
  save(name: string, query: Query): Change<unknown>;
  forgetSaved(name: string): Change<unknown>;
}

export interface ExpertsChange { weights?: Record<string, number>; lock?: Record<string, boolean>; reset?: boolean }
