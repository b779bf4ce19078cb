import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Locale;
import org.xpoll.Tree;
import org.xpoll.Xpoll;

/** Prints what happens to a directory and all below it: {@code TreeChanges [DIRECTORY]}. */
class TreeChanges {
    private static final Duration FOR_EVER = Duration.ofSeconds(-1);

    private TreeChanges() {}

    public static void main(String[] arguments) throws Exception {
        Path top = Path.of(arguments.length > 0 ? arguments[0] : ".");
        try (Tree tree = Tree.open(top, Xpoll.NOTE_WRITE, EnumSet.noneOf(Tree.Option.class))) {
            System.out.println("watching");
            Tree.Change change;
            do {
                change = tree.next(FOR_EVER);
                String word = change.kind() == Tree.Kind.CHANGE ? "write"
                        : change.kind().name().toLowerCase(Locale.ROOT);
                String to = change.to() == null ? "" : " -> " + change.to();
                System.out.println(word + " " + change.path() + to);
            } while (change.kind() != Tree.Kind.END);
        }
    }
}
