package org.xpoll.nio;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Random;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import sun.nio.ch.DefaultSelectorProvider;

/** The same random program on xpoll's selector and on the JDK's: each answer has to be equal. */
class DifferentialTest {
    private static final int PROGRAMS = 10;
    private static final int STEPS = 400;

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 3})
    @Timeout(120)
    void theAnswersAreTheJdks(int group) throws Exception {
        int programs = Integer.getInteger("xpoll.programs", PROGRAMS);
        for (int i = 0; i < programs; i++) {
            run((long) group * programs + i);
        }
    }

    private static void run(long seed) throws Exception {
        Random first = new Random(seed);
        Random second = new Random(seed);
        try (World xpoll = new World(new XpollSelectorProvider());
                World jdk = new World(DefaultSelectorProvider.get())) {
            for (int step = 0; step < STEPS; step++) {
                int number = step;
                assertEquals(jdk.step(first), xpoll.step(second),
                        () -> "program " + seed + ", step " + number);
            }
        }
    }
}
