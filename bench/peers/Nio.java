import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;

/** Java's own Selector; see build.sh. */
final class Nio {
    private final Selector selector = Selector.open();
    private final Pipe[] pipes;
    private final SelectionKey[] sinks;
    private final ByteBuffer buffer = ByteBuffer.allocateDirect(1);

    private Nio(int n, boolean token) throws IOException {
        pipes = new Pipe[n];
        sinks = new SelectionKey[n];
        for (int i = 0; i < n; i++) {
            pipes[i] = Pipe.open();
            pipes[i].source().configureBlocking(false);
            pipes[i].source().register(selector, SelectionKey.OP_READ, i);
            pipes[i].sink().configureBlocking(false);
            if (token) {
                sinks[i] = pipes[i].sink().register(selector, 0, i);
            }
        }
        if (token) {
            give(0);
        }
    }

    private void give(int index) throws IOException {
        buffer.clear();
        if (pipes[index].sink().write(buffer) != 1) {
            throw new IOException("a pipe is full");
        }
    }

    private void take(int index) throws IOException {
        buffer.clear();
        if (pipes[index].source().read(buffer) != 1) {
            throw new IOException("a pipe is empty");
        }
    }

    private void looptest(long count) throws IOException {
        for (long[] reads = {0}; reads[0] < count; ) {
            selector.select(key -> {
                try {
                    int index = (Integer) key.attachment();
                    if (key.isReadable()) {
                        take(index);
                        sinks[(index + 1) % sinks.length].interestOps(SelectionKey.OP_WRITE);
                        reads[0]++;
                    } else {
                        key.interestOps(0);
                        give(index);
                    }
                } catch (IOException error) {
                    throw new IllegalStateException(error);
                }
            });
        }
    }

    private void serve(int active, long count) throws IOException {
        for (long left = count; left > 0; ) {
            int k = (int) Math.min(Math.min(active, pipes.length), left);
            for (int i = 0; i < k; i++) {
                give(i * (pipes.length / k));
            }
            for (int unread = k; unread > 0; ) {
                unread -= selector.select(key -> {
                    try {
                        take((Integer) key.attachment());
                    } catch (IOException error) {
                        throw new IllegalStateException(error);
                    }
                });
            }
            left -= k;
        }
    }

    public static void main(String[] arguments) throws IOException {
        boolean token = arguments[0].equals("looptest");
        Nio nio = new Nio(Integer.parseInt(arguments[1]), token);
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line; (line = questions.readLine()) != null; ) {
            String[] numbers = line.split(" ");
            if (token) {
                nio.looptest(Long.parseLong(numbers[1]));
            } else {
                nio.serve(Integer.parseInt(numbers[0]), Long.parseLong(numbers[1]));
            }
            System.out.println("done");
        }
    }
}
