package org.xpoll;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.xpoll.Tree.Change;
import org.xpoll.Tree.Kind;

/** Directory trees: changes, options, errors, and how a wait ends. */
@Timeout(120)
class TreeTest {
    private static final Duration FOR_EVER = Duration.ofSeconds(-1);
    private static final EnumSet<Tree.Option> NONE = EnumSet.noneOf(Tree.Option.class);

    @TempDir
    Path folder;

    private static void check(Tree tree, Kind kind, String path, String to, int notes)
            throws IOException {
        assertEquals(new Change(kind, path, to, notes, 0), tree.next(FOR_EVER));
    }

    @Test
    void changesComeWithTheirNames() throws IOException {
        Path top = Files.createDirectory(folder.resolve("top"));
        try (Tree tree = Tree.open(top, Xpoll.NOTE_WRITE, NONE)) {
            assertNull(tree.next(Duration.ZERO));
            Files.createDirectories(top.resolve("a/b"));
            check(tree, Kind.CREATE, "a", null, 0);
            check(tree, Kind.CREATE, "a/b", null, 0);
            Files.writeString(top.resolve("a/b/\u00e9"), "text");
            check(tree, Kind.CREATE, "a/b/\u00e9", null, 0);
            check(tree, Kind.CHANGE, "a/b/\u00e9", null, Xpoll.NOTE_WRITE);
            Files.move(top.resolve("a/b"), top.resolve("d"));
            check(tree, Kind.RENAME, "a/b", "d", 0);
            Files.delete(top.resolve("d/\u00e9"));
            Files.delete(top.resolve("d"));
            Files.delete(top.resolve("a"));
            Files.delete(top);
            check(tree, Kind.DELETE, "d/\u00e9", null, 0);
            check(tree, Kind.DELETE, "d", null, 0);
            check(tree, Kind.DELETE, "a", null, 0);
            check(tree, Kind.END, "", null, Xpoll.NOTE_DELETE);
            assertThrows(XpollException.class, () -> tree.next(Duration.ZERO));
        }
    }

    @Test
    void foldersBelowAreLeftAloneIfWanted() throws IOException {
        Files.createDirectory(folder.resolve("below"));
        try (Tree tree = Tree.open(folder, 0, EnumSet.allOf(Tree.Option.class))) {
            Files.createFile(folder.resolve("below/x"));
            Files.createFile(folder.resolve("y"));
            check(tree, Kind.CREATE, "y", null, 0);
            long start = System.nanoTime();
            assertNull(tree.next(Duration.ofMillis(5)));
            assertEquals(true, System.nanoTime() - start >= 5_000_000);
        }
    }

    @Test
    void whatIsNoDirectoryIsRefused() throws IOException {
        assertThrows(NoSuchFileException.class, () -> Tree.open(folder.resolve("none")));
        Path file = Files.createFile(folder.resolve("file"));
        assertThrows(NotDirectoryException.class, () -> Tree.open(file));
        assertThrows(XpollException.class, () -> Tree.open(folder, 1 << 30, NONE));
    }

    @Test
    void wakeAndCloseEndTheWaitOfAnotherThread() throws Exception {
        Tree tree = Tree.open(folder);
        CompletableFuture<Change> woken = waitElsewhere(tree);
        tree.wake();
        assertNull(woken.join());
        CompletableFuture<Change> closed = waitElsewhere(tree);
        tree.close();
        CompletionException end = assertThrows(CompletionException.class, closed::join);
        assertEquals(QueueClosedException.class, end.getCause().getClass());
        tree.close();
        tree.wake();
        assertThrows(QueueClosedException.class, () -> tree.next(Duration.ZERO));
    }

    private static CompletableFuture<Change> waitElsewhere(Tree tree) {
        return CompletableFuture.supplyAsync(() -> {
            try {
                return tree.next(FOR_EVER);
            } catch (IOException e) {
                throw new CompletionException(e);
            }
        });
    }
}
